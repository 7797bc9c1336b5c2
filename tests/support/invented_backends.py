"""Invented backends: recorded streams to learn from, and other streams of the same backends.

Each backend has a language of its own for names of fields, events and states, and a shape of its own.
Some streams fail: in each of the ways that backends have, with and without a recorded failure.
"""

import json
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from home_made import sse

__all__ = ["FIRST", "LATER", "Backend", "Run", "ndjson"]

Call = tuple[str, Any, Any]
Item = Any


class Run(NamedTuple):
    """One stream.

    Attributes:
        body: the bytes.
        text: the answer; of a failed run, what was said before the failure.
        calls: name, arguments and result of each tool call.
        failure: the text that reports the failure; None if the run is a success.
        thought: the thinking.
    """

    body: bytes
    text: str = ""
    calls: tuple[Call, ...] = ()
    failure: str | None = None
    thought: str = ""


class Backend(NamedTuple):
    """A backend.

    Attributes:
        recorded: the streams to learn from.
        unseen: other streams.
        must_ask: whether the report has to ask a person.
    """

    recorded: tuple[Run, ...]
    unseen: tuple[Run, ...]
    must_ask: bool = False


def ndjson(*messages: Any) -> bytes:
    return b"".join(
        (m if isinstance(m, str) else json.dumps(m, ensure_ascii=False)).encode() + b"\n" for m in messages
    )


def whole(*messages: Any) -> bytes:
    """Messages as SSE without a space behind the colon."""
    return sse(*messages).replace(b"data: ", b"data:")


def lines(*texts: str) -> bytes:
    return "".join(text + "\n" for text in texts).encode()


def cut(text: str, size: int = 7) -> list[str]:
    return [text[at : at + size] for at in range(0, len(text), size)]


def so_far(text: str, size: int = 9) -> list[str]:
    return [text[: at + size] for at in range(0, len(text), size)]


def run(
    write: Callable[..., bytes],
    frames: Sequence[Item],
    text: str = "",
    *,
    calls: tuple[Call, ...] = (),
    failure: str | None = None,
    thought: str = "",
) -> Run:
    return Run(write(*frames), text, calls, failure, thought)


ES = "El té verde se prepara con agua a ochenta grados, nunca hirviendo."
ES2 = "Para dos personas bastan cinco gramos y tres minutos de espera."
DE = "Grüner Tee wird mit achtzig Grad heißem Wasser aufgegossen."
DE2 = "Drei Minuten genügen, danach wird er bitter und schmeckt streng."
FR = "Le thé vert se prépare avec une eau à quatre-vingts degrés."
FR2 = "Trois minutes suffisent, ensuite il devient amer et perd son goût."
ZH = "绿茶要用八十度左右的热水冲泡，不要用沸水，三分钟就够了。"
ZH2 = "两个人喝五克茶叶就可以，水不要太多，放凉一点再喝更好。"
EN = "Green tea is made with water of eighty degrees, never boiling."
EN2 = "Three minutes are enough, then it turns bitter and loses its taste."
JA = "緑茶は八十度のお湯で入れます。沸騰したお湯は使いません。"
JA2 = "二人分なら五グラムで十分です。三分ほど待ってください。"
PT = "O chá verde é preparado com água a oitenta graus, nunca fervendo."
RU = "Зелёный чай заваривают водой восемьдесят градусов, не кипятком."
RU2 = "Трёх минут достаточно, потом он становится горьким и терпким."

FIRST: dict[str, Backend] = {}
"""Backends that the learner was written for."""

LATER: dict[str, Backend] = {}
"""Backends that the learner was not changed for."""


# Spanish: the end says how it went


def es_state(text: str, state: str = "correcto", failure: str | None = None) -> Run:
    frames: list[Item] = [{"tipo": "trozo", "texto": piece} for piece in cut(text)]
    end = {"tipo": "cierre", "estado": state, **({"detalle": failure} if failure else {})}
    return run(sse, [*frames, end], text, failure=failure)


FIRST["es: a state at the end, one failure recorded"] = Backend(
    (es_state(ES), es_state("El servidor de", "fallo", "No hay conexión con la base de datos central")),
    (es_state(ES2), es_state("Un momento", "fallo", "Se agotó la cuota diaria del modelo")),
)
FIRST["es: a state at the end, no failure recorded"] = Backend(
    (es_state(ES),),
    (es_state(ES2), es_state("Un momento", "fallo", "Se agotó la cuota diaria del modelo")),
)


def es_error_frame(text: str, failure: str | None = None) -> Run:
    frames: list[Item] = [("fragmento", {"texto": piece, "n": n}) for n, piece in enumerate(cut(text))]
    end: Item = ("fallo", {"texto": failure, "codigo": 17}) if failure else ("fin", {"total": len(text)})
    return run(sse, [*frames, end], text, failure=failure)


FIRST["es: a failure has the field of the text"] = Backend(
    (es_error_frame(ES), es_error_frame("Voy a", "El modelo no está disponible ahora mismo")),
    (es_error_frame(ES2), es_error_frame("", "La clave ha caducado y no se puede renovar")),
)


# German


def de_flag(text: str, failure: str | None = None, *, calls: bool = False) -> Run:
    frames: list[Item] = [{"art": "beginn", "sitzung": "s-81"}]
    found: tuple[Call, ...] = ()
    if calls:
        frames += [
            {"art": "werkzeug_start", "id": "w1", "name": "suche", "argumente": {"begriff": "Tee"}},
            {"art": "werkzeug_ende", "id": "w1", "name": "suche", "ergebnis": "4 Treffer", "erfolg": True},
        ]
        found = (("suche", {"begriff": "Tee"}, "4 Treffer"),)
    frames += [{"art": "stück", "inhalt": piece} for piece in cut(text)]
    end: dict[str, Any] = {"art": "ende", "erfolg": failure is None}
    if failure:
        end["grund"] = failure
    return run(ndjson, [*frames, end], text, failure=failure, calls=found)


FIRST["de: a success flag at the end, calls"] = Backend(
    (de_flag(DE, calls=True), de_flag(DE2)),
    (
        de_flag(DE2, calls=True),
        de_flag("Ich suche", "Zeitüberschreitung beim Sprachmodell"),
        de_flag("", "Kein Kontingent mehr für diesen Schlüssel", calls=True),
    ),
)
FIRST["de: a success flag at the end, failure recorded"] = Backend(
    (de_flag(DE), de_flag("Ich", "Zeitüberschreitung beim Sprachmodell")),
    (de_flag(DE2, calls=False), de_flag("", "Kein Kontingent mehr für diesen Schlüssel")),
)


def de_code(text: str, code: int = 0, failure: str | None = None) -> Run:
    frames: list[Item] = [{"code": 0, "daten": {"antwort": piece}} for piece in cut(text)]
    last: Item = {"code": code, "meldung": failure} if failure else {"code": 0, "daten": {"fertig": True}}
    return run(sse, [*frames, last], text, failure=failure)


FIRST["de: a code beside each piece"] = Backend(
    (de_code(DE), de_code("Der", 503, "Dienst vorübergehend nicht erreichbar")),
    (de_code(DE2), de_code("Drei", 429, "Zu viele Anfragen in dieser Minute")),
)
FIRST["de: a code beside each piece, no failure recorded"] = Backend(
    (de_code(DE),), (de_code(DE2), de_code("Drei", 429, "Zu viele Anfragen in dieser Minute"))
)


def de_same_shape(text: str, failure: str | None = None) -> Run:
    """A failure is a piece of text with another code."""
    frames: list[Item] = [{"code": 0, "daten": {"antwort": piece}} for piece in cut(text)]
    last = {"code": 500, "daten": {"antwort": failure}} if failure else {"code": 0, "daten": {"ende": True}}
    return run(sse, [*frames, last], text, failure=failure)


FIRST["de: a failure is a piece with another code"] = Backend(
    (de_same_shape(DE), de_same_shape("Der", "Interner Fehler im Sprachdienst")),
    (de_same_shape(DE2), de_same_shape("", "Interner Fehler im Sprachdienst")),
)
FIRST["de: a failure is a piece with another code, unseen"] = Backend(
    (de_same_shape(DE),), (de_same_shape(DE2), de_same_shape("Drei", "Das Sprachmodell antwortet nicht"))
)


# French


def fr_nested(text: str, failure: str | None = None) -> Run:
    frames: list[Item] = [
        {"enveloppe": {"genre": "morceau", "charge": {"texte": piece}}, "numero": n}
        for n, piece in enumerate(cut(text))
    ]
    if failure:
        frames.append({"enveloppe": {"genre": "erreur", "charge": {"texte": failure}}, "numero": 99})
    else:
        frames.append({"enveloppe": {"genre": "fin", "charge": {}}, "numero": 99})
    return run(sse, frames, text, failure=failure)


FIRST["fr: envelopes"] = Backend(
    (fr_nested(FR), fr_nested("Je cherche", "Le modèle ne répond pas")),
    (fr_nested(FR2), fr_nested("", "Quota dépassé pour cette clé")),
)


def fr_done(text: str, failure: str | None = None) -> Run:
    frames: list[Item] = [{"reponse": piece} for piece in cut(text)]
    if failure:
        return run(sse, [*frames, {"erreur": {"message": failure, "code": 11}}], text, failure=failure)
    return run(sse, [*frames, "[FIN]"], text)


FIRST["fr: a mark at the end, failures without it"] = Backend(
    (fr_done(FR), fr_done("Je", "Le modèle ne répond pas")),
    (fr_done(FR2), fr_done("", "Quota dépassé pour cette clé")),
)
FIRST["fr: a mark at the end, no failure recorded"] = Backend(
    (fr_done(FR),), (fr_done(FR2), fr_done("Trois", "Quota dépassé pour cette clé"))
)


# Chinese


def zh_state(text: str, failure: str | None = None, *, call: bool = False) -> Run:
    frames: list[Item] = []
    found: tuple[Call, ...] = ()
    if call:
        frames += [
            {"类型": "工具调用", "编号": "t1", "名称": "搜索", "参数": {"词": "茶"}},
            {"类型": "工具结果", "编号": "t1", "名称": "搜索", "结果": "三条", "状态": "成功"},
        ]
        found = (("搜索", {"词": "茶"}, "三条"),)
    frames += [{"类型": "回答", "内容": piece} for piece in cut(text, 3)]
    end = {"类型": "结束", "状态": "失败" if failure else "成功"}
    if failure:
        end["内容"] = failure
    return run(sse, [*frames, end], text, failure=failure, calls=found)


FIRST["zh: a state at the end, calls"] = Backend(
    (zh_state(ZH, call=True), zh_state(ZH2)),
    (zh_state(ZH2, call=True), zh_state("请稍等", "模型服务暂时不可用，请联系管理员")),
)
FIRST["zh: a state at the end, failure recorded"] = Backend(
    (zh_state(ZH), zh_state("请稍等", "模型服务暂时不可用，请联系管理员")),
    (zh_state(ZH2), zh_state("", "余额不足，无法继续生成内容")),
)


def zh_code(text: str, failure: str | None = None) -> Run:
    frames: list[Item] = [{"code": 0, "msg": "ok", "data": {"answer": part}} for part in so_far(text)]
    last = {"code": 102, "msg": failure, "data": None} if failure else {"code": 0, "msg": "ok", "data": True}
    return run(whole, [*frames, last], text, failure=failure)


FIRST["zh: all so far, a code"] = Backend(
    (zh_code(ZH), zh_code("请", "数据库连接失败了")), (zh_code(ZH2), zh_code("", "没有权限访问这个知识库"))
)


# English


def en_numbers(text: str, failure: str | None = None, *, call: bool = False) -> Run:
    """Kinds are numbers, and names say nothing."""
    frames: list[Item] = []
    found: tuple[Call, ...] = ()
    if call:
        frames += [
            {"op": 4, "call": {"id": "c9", "name": "lookup", "args": {"q": "tea"}}},
            {"op": 5, "call": {"id": "c9", "result": "3 hits"}},
        ]
        found = (("lookup", {"q": "tea"}, "3 hits"),)
    frames += [{"op": 1, "d": piece} for piece in cut(text)]
    frames.append({"op": 9, "d": failure} if failure else {"op": 2, "ms": 412 + len(text)})
    return run(ndjson, frames, text, failure=failure, calls=found)


FIRST["en: kinds are numbers"] = Backend(
    (en_numbers(EN, call=True), en_numbers("Let me", "upstream model timed out after 30 s")),
    (en_numbers(EN2, call=True), en_numbers(EN2), en_numbers("", "quota exceeded for this key")),
    must_ask=True,
)


def en_pieces(text: str, *, ok: bool = True, failure: str | None = None) -> Run:
    """A call in pieces, and a call that fails."""
    frames: list[Item] = [
        ("tool.begin", {"call_id": "k1", "tool": "weather"}),
        ("tool.args", {"call_id": "k1", "delta": '{"city": '}),
        ("tool.args", {"call_id": "k1", "delta": '"Kyoto"}'}),
        ("tool.end", {"call_id": "k1", "ok": ok, "output": "21 C" if ok else "socket closed by peer"}),
        *(("say", {"delta": piece}) for piece in cut(text)),
        ("bye", {"reason": "stop"}) if failure is None else ("bye", {"reason": "aborted", "note": failure}),
    ]
    calls = (("weather", {"city": "Kyoto"}, "21 C"),) if ok else ()
    return run(sse, frames, text, calls=calls, failure=failure)


FIRST["en: calls in pieces, a reason at the end"] = Backend(
    (en_pieces(EN),), (en_pieces(EN2), en_pieces("Hm", failure="the worker was stopped by the scheduler"))
)


def en_error_text(text: str, failure: str | None = None) -> Run:
    """A failure is text of the answer that begins with a word for error."""
    frames: list[Item] = [{"type": "token", "content": piece} for piece in cut(text)]
    if failure:
        frames.append({"type": "token", "content": failure})
    return run(sse, [*frames, {"type": "done"}] if not failure else frames, text, failure=failure)


FIRST["en: a failure is a piece of text"] = Backend(
    (en_error_text(EN), en_error_text("", "Error: model overloaded, retry later")),
    (en_error_text(EN2), en_error_text("", "Error: out of credits for this month")),
)


def en_trace(text: str, failure: str | None = None) -> Run:
    frames: list[Item] = [{"answer": piece} for piece in cut(text)]
    if failure:
        frames.append({"answer": failure})
    return run(ndjson, [*frames, {"done": True}], text, failure=failure)


TRACE = "Traceback (most recent call last):\n  File \"/srv/app.py\", line {}, in run\nKeyError: '{}'"
FIRST["en: a failure is a stack trace"] = Backend(
    (en_trace(EN), en_trace("", TRACE.format(3, "user"))),
    (en_trace(EN2), en_trace("", TRACE.format(88, "model"))),
)


def en_eof(text: str, failure: str | None = None) -> Run:
    frames: list[Item] = [{"word": piece} for piece in cut(text)]
    if failure:
        frames.append({"problem": failure})
    return run(ndjson, frames, text, failure=failure)


FIRST["en: no end, failure recorded"] = Backend(
    (en_eof(EN), en_eof("Let", "the cache is offline")), (en_eof(EN2), en_eof("", "the shard is missing"))
)
FIRST["en: no end, no failure recorded"] = Backend(
    (en_eof(EN),), (en_eof(EN2), en_eof("Three", "the shard is missing"))
)


# Japanese, Portuguese, Russian


def ja_status(text: str, failure: str | None = None) -> Run:
    frames: list[Item] = [{"種類": "思考", "本文": piece} for piece in ("少し", "考え", "ます。")]
    frames += [{"種類": "回答", "本文": piece} for piece in cut(text, 4)]
    end = {"種類": "終了", "成功": failure is None, "時間": 1.5 + len(text)}
    if failure:
        frames.append({"種類": "エラー", "本文": failure})
    return run(ndjson, [*frames, end], text, failure=failure, thought="少し考えます。")


FIRST["ja: thinking, and a failure before the end"] = Backend(
    (ja_status(JA), ja_status("少し", "モデルに接続できませんでした")),
    (ja_status(JA2), ja_status("", "利用上限に達しました")),
)


def pt_lines(text: str, failure: str | None = None) -> Run:
    texts = [f"TXT {json.dumps(piece, ensure_ascii=False)}" for piece in cut(text)]
    end = f"FALHA {json.dumps(failure, ensure_ascii=False)}" if failure else "FIM"
    return run(lines, [*texts, end], text, failure=failure)


FIRST["pt: lines"] = Backend(
    (pt_lines(PT), pt_lines("Um", "O serviço de busca não respondeu")),
    (pt_lines(ES), pt_lines("", "Limite de uso atingido")),
)


def ru_flag(text: str, failure: str | None = None) -> Run:
    frames: list[Item] = [("кусок", {"текст": piece}) for piece in cut(text)]
    end: dict[str, Any] = {"успех": failure is None, "мс": 100 + len(text)}
    if failure:
        end["текст"] = failure
    return run(sse, [*frames, ("конец", end)], text, failure=failure)


FIRST["ru: a success flag, the text of the failure in the field of the answer"] = Backend(
    (ru_flag(RU), ru_flag("Сейчас", "Модель недоступна, попробуйте позже")),
    (ru_flag(RU2), ru_flag("", "Превышен лимит запросов к сервису")),
)
FIRST["ru: a success flag, no failure recorded"] = Backend(
    (ru_flag(RU),), (ru_flag(RU2), ru_flag("Трёх", "Превышен лимит запросов к сервису"))
)


# An error frame before the end of a good run


def en_error_then_end(text: str, failure: str | None = None) -> Run:
    frames: list[Item] = [{"ev": "chunk", "body": {"words": piece}} for piece in cut(text)]
    if failure:
        frames.append({"ev": "hiccup", "body": {"note": failure}})
    return run(sse, [*frames, {"ev": "closed", "seq": len(frames)}], text, failure=failure)


FIRST["en: an unknown frame before the usual end"] = Backend(
    (en_error_then_end(EN),),
    (en_error_then_end(EN2), en_error_then_end("Three", "the reranker crashed on a document")),
)
FIRST["en: a frame of a failure before the usual end, recorded"] = Backend(
    (en_error_then_end(EN), en_error_then_end("Three", "the reranker crashed on a document")),
    (en_error_then_end(EN2), en_error_then_end("", "the index of the wiki is locked")),
    must_ask=True,
)


# Backends that the learner was not changed for


def it_steps(text: str, failure: str | None = None) -> Run:
    """Italian: a tool whose call fails, pieces below a list, the outcome as a word."""
    frames: list[Item] = [
        {
            "evento": "strumento",
            "fase": "inizio",
            "id": "x1",
            "nome": "meteo",
            "argomenti": {"a": "Roma"},
        },
        {"evento": "strumento", "fase": "fine", "id": "x1", "nome": "meteo", "risultato": "sole"},
        *({"evento": "testo", "parti": [{"testo": piece}]} for piece in cut(text)),
        {"evento": "chiusura", "esito": "negativo" if failure else "positivo"},
    ]
    if failure:
        frames.insert(-1, {"evento": "errore", "messaggio": failure})
    return run(sse, frames, text, calls=(("meteo", {"a": "Roma"}, "sole"),), failure=failure)


IT = "Il tè verde si prepara con acqua a ottanta gradi, mai bollente."
LATER["it: tools, a word of another kind at the end"] = Backend(
    (it_steps(IT), it_steps("Un", "Il servizio non risponde più")),
    (it_steps(PT), it_steps("", "Credito esaurito per oggi")),
)


def ko_code(text: str, failure: str | None = None) -> Run:
    """Korean: NDJSON, everything in an envelope, a result code in each line."""
    frames: list[Item] = [{"결과코드": 0, "내용": {"글": piece}} for piece in cut(text, 3)]
    last = {"결과코드": 7, "내용": {"글": failure}} if failure else {"결과코드": 0, "내용": {"끝": True}}
    return run(ndjson, [*frames, last], text, failure=failure)


KO = "녹차는 팔십 도의 물로 우려내고 끓는 물은 쓰지 않습니다."
LATER["ko: a result code in each line, failure recorded"] = Backend(
    (ko_code(KO), ko_code("잠시", "서버에 연결할 수 없습니다")),
    (ko_code(JA), ko_code("", "사용 한도를 초과했습니다")),
)


def opaque(text: str, failure: str | None = None) -> Run:
    """No language: two letters for everything, a boolean at the end."""
    frames: list[Item] = [{"q": "aa", "z": {"p": piece}} for piece in cut(text)]
    end: dict[str, Any] = {"q": "zz", "b": failure is None}
    if failure:
        end["z"] = {"p": failure}
    return run(sse, [*frames, end], text, failure=failure)


LATER["no words: a boolean at the end, failure recorded"] = Backend(
    (opaque(EN), opaque("Let", "the planner gave up after nine rounds")),
    (opaque(EN2), opaque("", "no worker could be found for this run")),
)
LATER["no words: a boolean at the end, no failure recorded"] = Backend(
    (opaque(EN),), (opaque(EN2), opaque("Three", "no worker could be found for this run"))
)


def vi_events(text: str, failure: str | None = None) -> Run:
    """Vietnamese, a language without a table: event names, JSON texts, a failure with an event name."""
    frames: list[Item] = [("doan", json.dumps(piece)) for piece in cut(text)]
    frames.append(("loi", json.dumps(failure)) if failure else ("xong", json.dumps("")))
    return run(sse, frames, text, failure=failure)


LATER["vi: event names in an unknown language"] = Backend(
    (vi_events(EN), vi_events("Xin", "khong the ket noi voi may chu")),
    (vi_events(EN2), vi_events("", "da het han muc su dung hom nay")),
)


def nl_session(text: str, failure: str | None = None) -> Run:
    """Dutch, a language without a table: kinds by number, the outcome as a word."""
    frames: list[Item] = [{"soort": 1, "tekst": piece} for piece in cut(text)]
    end = {"soort": 3, "uitkomst": "mislukt" if failure else "gelukt"}
    if failure:
        end["uitleg"] = failure
    return run(ndjson, [*frames, end], text, failure=failure)


LATER["nl: kinds are numbers, a word at the end"] = Backend(
    (nl_session(EN), nl_session("Even", "de zoekdienst geeft geen antwoord")),
    (nl_session(EN2), nl_session("", "het model is niet geladen")),
)


def pt_whole(text: str, failure: str | None = None) -> Run:
    """Portuguese: pieces, then all of it once more, a flag of success beside that."""
    frames: list[Item] = [("parte", {"conteudo": piece}) for piece in cut(text)]
    if failure:
        frames.append(("resultado_final", {"sucesso": False, "conteudo": failure}))
    else:
        frames.append(("resultado_final", {"sucesso": True, "conteudo": text}))
    return run(sse, frames, text, failure=failure)


LATER["pt: all of it again, with a flag"] = Backend(
    (pt_whole(PT), pt_whole("Um", "O modelo ficou sem memória")),
    (pt_whole(ES), pt_whole("", "O limite diário foi atingido")),
)


def zh_parallel(text: str, failure: str | None = None) -> Run:
    """Chinese: two calls, one in pieces, code and message in each frame."""

    def frame(kind: str, **fields: Any) -> Item:
        return {"代码": 0, "数据": {"事件": kind, **fields}}

    frames: list[Item] = [
        frame("思考", 文本="先查"),
        frame("思考", 文本="天气。"),
        frame("工具开始", 工具编号="a1", 工具名称="天气", 参数={"城市": "北京"}),
        frame("工具结束", 工具编号="a1", 结果="晴"),
        *(frame("回复", 文本=piece) for piece in cut(text, 3)),
        {"代码": 5001, "信息": failure} if failure else frame("完成"),
    ]
    calls = (("天气", {"城市": "北京"}, "晴"),)
    return run(sse, frames, text, failure=failure, calls=calls, thought="先查天气。")


LATER["zh: thinking and calls below a code"] = Backend(
    (zh_parallel(ZH),), (zh_parallel(ZH2), zh_parallel("请", "内部服务调用链断开"))
)


def en_status_only(text: str, failure: str | None = None) -> Run:
    """English: each frame has a status, and its text is a sentence about a failure in the last one."""
    frames: list[Item] = [{"status": "generating", "response": piece} for piece in cut(text)]
    last = {"status": "errored", "response": failure} if failure else {"status": "complete", "response": ""}
    return run(ndjson, [*frames, last], text, failure=failure)


LATER["en: a status in each frame, no failure recorded"] = Backend(
    (en_status_only(EN),),
    (en_status_only(EN2), en_status_only("Three", "the connection to the model is lost")),
)


def fr_lines(text: str, failure: str | None = None) -> Run:
    """French: lines with a word in front, the end says how it went."""
    texts = [f"MOT {json.dumps(piece, ensure_ascii=False)}" for piece in cut(text)]
    end = {"ok": failure is None, **({"motif": failure} if failure else {})}
    return run(lines, [*texts, f"FIN {json.dumps(end, ensure_ascii=False)}"], text, failure=failure)


LATER["fr: lines, a flag at the end, no failure recorded"] = Backend(
    (fr_lines(FR),), (fr_lines(FR2), fr_lines("Trois", "Le serveur a fermé la session"))
)
