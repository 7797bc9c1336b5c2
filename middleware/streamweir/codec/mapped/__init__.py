"""Home-made dialects: a mapping of YAML is compiled to a decoder and an encoder.

    DialectSource   one mapping, as it is written (`dialect.py`)
     |  compile_dialects        Section         one mapping in it: reads its values, reports problems
     v                          ProblemReport   takes the problems, with the path of each
    MappedDialect   the compiled dialect
     |
     |-- ReadingRules (`reading.py`) ----> MappedDecoder (`reader.py`)         Frame -> events
     |     ignore, terminal  Words         frames known by a word or a match
     |     rules             RuleTable     finds the first Rule that takes a frame
     |       Rule                          Conditions (`match`, `has`, `when`), an Emission, a Memory
     |         Emission                    the compiled `emit`: an entry for each event, `each` for lists
     |         Memory                      the compiled `remember`: values kept for the rest of the stream
     |     ReadScope                       the state of one stream: what expressions and entries see
     |
     |-- WritingRules (`writing.py`) ----> MappedEncoder (`writer.py`)         event -> Frames
     |     rules             WriteRule     by type of event: conditions, and the frames to send
     |       FrameOut                      one frame of a rule: name, data, text
     |     Answer, OpenCalls               the state of one stream: the text so far, calls without an end
     |
     |-- requests            Sides         `request:` (`requests.py`)
     '-- examples            Example       `examples:`; run by `translation/dialect_examples.py`

A compiled dialect is a value that all streams share; only `ReadScope`, `Answer`, `OpenCalls` and the counts
in the encoder belong to one stream. Begin with `dialect.py`. Source: the dialect-file contract.
"""
