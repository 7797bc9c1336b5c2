"""Words of other languages in names of fields, events and states, and the English words for them.

Backends use names in the language of their authors. The tables of `field_names` are in English, so a name is
translated word by word before it is looked up. A name whose words are unknown is not changed.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from functools import lru_cache
from typing import Final

__all__ = ["english"]

_FOREIGN: Final = {
    # kinds and envelopes
    "type": "tipo typ genre тип 类型 類型 种类 種類 種別 タイプ 유형 종류",
    "kind": "art clase sorte especie вид",
    "event": "evento ereignis evenement événement событие 事件 イベント 이벤트",
    "action": "accion acción acao ação aktion действие 动作 動作",
    "data": "datos daten donnees données dados данные 数据 數據 資料 データ 데이터",
    "payload": "carga nutzlast charge",
    "code": "codigo código kode codice код 代码 代碼 错误码 状态码 コード 코드",
    "id": "kennung identificador identifiant идентификатор 编号 編號 标识 番号 識別子",
    "name": "nombre nom nome имя название 名称 名稱 名字 名前 名 이름",
    "index": "indice índice nummer numero número номер 序号 序號 索引",
    "time": "zeit dauer tiempo duracion duración temps duree durée tempo duracao duração время"
    " длительность 时间 時間 耗时 用时",
    "ms": "мс 毫秒 ミリ秒",
    "count": "anzahl cantidad quantite quantité quantidade количество 数量 计数 件数",
    "total": "gesamt всего 总数 总计 合計",
    "version": "versión versao versão версия 版本",
    "language": "idioma sprache langue lingua язык 语言 言語",
    "model": "modelo modell modele modèle modello модель 模型 モデル",
    # text
    "text": "texto texte testo текст 文本 正文 文字 本文 テキスト 텍스트",
    "content": "contenido inhalt contenu conteudo conteúdo contenuto содержание содержимое 内容 內容 내용",
    "message": "mensaje nachricht meldung mensagem messaggio сообщение 消息 信息 提示 訊息 メッセージ 메시지",
    "answer": "respuesta antwort reponse réponse resposta risposta ответ 回答 答案 回复 回覆 答复"
    " 応答 返答 답변",
    "chunk": "trozo fragmento fragment stuck stück stueck teil morceau bout pedaco pedaço trecho"
    " pezzo parte кусок фрагмент часть 片段 分片 片 断片 塊 块 조각",
    "word": "palabra wort mot palavra parola слово",
    "delta": "增量 дельта 差分",
    "thinking": "pensamiento pensando razonamiento gedanke gedanken denken uberlegung überlegung"
    " pensee pensée reflexion réflexion raisonnement pensamento raciocinio raciocínio pensiero"
    " ragionamento мысль мысли размышление рассуждение 思考 推理 思维 思路 考え 思考中 생각",
    "question": "pregunta frage pergunta domanda вопрос 问题 問題 質問",
    "source": "fuente quelle fonte источник 来源 出典",
    # tools
    "tool": "herramienta werkzeug outil ferramenta strumento инструмент 工具 ツール 도구",
    "function": "funcion función funktion fonction funcao função funzione функция 函数 関数",
    "call": "llamada aufruf appel chamada chiamata вызов 调用 調用 呼び出し 呼出 호출",
    "arguments": "argumentos argumente parametros parámetros parametre parametres paramètres eingabe"
    " argomenti parâmetros entrada entree entrée аргументы параметры ввод 参数 參數 输入 引数 入力"
    " 인수",
    "result": "resultado ergebnis resultat résultat risultato salida ausgabe sortie saida saída"
    " результат вывод 结果 結果 输出 出力 결과",
    # states
    "status": "estado zustand etat état statut situacao situação stato статус состояние 状态 狀態 状態 상태",
    "reason": "motivo grund motif raison razon razón razao razão причина 原因 理由 이유",
    "success": "exito éxito erfolg erfolgreich succes succès reussi réussi reussite réussite sucesso"
    " successo успех успешно 成功 성공",
    "ok": "bien correcto correcta bueno gut richtig korrekt bon bom buono хорошо ок 正常 良好 正解 正确",
    "start": "inicio comienzo empieza beginn anfang debut début inizio início начало старт 开始 開始 시작",
    "end": "cierre ende schluss abschluss fini fim конец завершение 结束 結束 終了 終わり 끝 종료"
    " fine término termino",
    "done": "hecho listo lista terminado terminada completado completo finalizado fertig"
    " abgeschlossen beendet termine terminé terminée acheve achevé concluido concluído pronto finito"
    " готово завершено выполнено 完成 完了 已完成 完毕 완료",
    "error": "fehler erreur erro errore ошибка 错误 錯誤 出错 报错 异常 異常 エラー 오류 errores"
    " fehlermeldung",
    "errorcode": "fehlercode codigoerror 错误代码",
    "failed": "fallo falla fallido fallida fallado fracaso fehlgeschlagen gescheitert fehlschlag"
    " misslungen echec échec echoue échoué falha falhou fallito fallimento сбой неудача провал"
    " неуспешно 失败 失敗 실패 abbruch abgebrochen cancelado annule annulé cancelada interrumpido"
    " interrompu interrompido unterbrochen прервано отменено 中断 中止 取消 超时 超時 timeout"
    " zeituberschreitung zeitüberschreitung aborted abort interrupted cancelled canceled incident"
    " panne problem problema probleme problème проблема",
    "detail": "detalle einzelheit einzelheiten detalhe dettaglio подробности 详情 詳細",
    "warning": "aviso advertencia warnung avertissement avviso предупреждение 警告 경고",
    "session": "sesion sesión sitzung sessao sessão sessione сессия 会话 會話 セッション 세션",
    "ping": "latido herzschlag lebenszeichen battement пинг 心跳 ハートビート",
    "progress": "progreso fortschritt progres progrès progresso прогресс 进度 進捗 진행",
}
"""For each English word, the words of other languages that mean it."""

_LONGEST: Final = 200
_PART: Final = re.compile(r"[^\W\d_]+|\d+|[\W_]+")
_HUMP: Final = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_NO_SPACES: Final = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7ff]")
_LITTLE: Final = frozenset(["de", "del", "der", "des", "du", "do", "da", "di", "la", "el", "le", "les"])
_BEHIND: Final = frozenset({"name", "id", "result", "arguments", "start", "end", "call", "status"})
_BEFORE: Final = frozenset({"tool", "function", "call"})


def _bare(word: str) -> str:
    """Return a word in lower case, and Latin letters without accents."""
    letters = (unicodedata.normalize("NFD", letter)[0] if letter < "\u0250" else letter for letter in word)
    return "".join(letters).casefold()


_WORDS: Final = {_bare(word): known for known, words in _FOREIGN.items() for word in words.split()}
_LONGEST_WORD: Final = max(map(len, _WORDS))


@lru_cache(maxsize=8192)
def english(name: str) -> str:
    """Return a name with the known words of other languages in English, and with `_` between them."""
    if len(name) > _LONGEST:
        return name
    humped = _HUMP.sub("_", name) if name.isascii() else name
    parts = [part for whole in _PART.findall(humped) for part in _translated(whole)]
    if not any(is_foreign for _, is_foreign in parts):
        return name
    words = [word for word, _ in parts if word.isalnum() and word not in _LITTLE]
    if len(words) > 1 and words[0] in _BEHIND and words[-1] in _BEFORE and words[0] != words[-1]:
        words = [words[-1], *words[1:-1], words[0]]
    return "_".join(words)


def _translated(part: str) -> Iterator[tuple[str, bool]]:
    """Yield the words in a part of a name, each with whether it was translated."""
    word = _bare(part)
    if word in _WORDS:
        yield _WORDS[word], True
    elif _NO_SPACES.search(word):
        yield from _segmented(word)
    else:
        yield part, False


def _segmented(text: str) -> Iterator[tuple[str, bool]]:
    """Yield the words of a text without spaces, the longest known words first."""
    at = begin = 0
    while at < len(text):
        ends = range(min(len(text), at + _LONGEST_WORD), at, -1)
        word = next((text[at:end] for end in ends if text[at:end] in _WORDS), None)
        if word is None:
            at += 1
            continue
        if at > begin:
            yield text[begin:at], False
        yield _WORDS[word], True
        at = begin = at + len(word)
    if begin < len(text):
        yield text[begin:], False
