"""Learning a dialect from recorded bodies: `streamweir learn`.

    bodies    --observe-->     Observed   one frame of one body, with its number      `observed_frames.py`
              --kinds_of-->    Kinds      groups, end marks, frames that say nothing   `kinds.py`
                               Group      messages that mean the same, and the conditions that tell them apart
                               Message    one frame of a group                        `groups.py`
              --units_of-->    Unit       the messages of a group, or the items of a list in them (`each`)
                               Record     one message, or one item                    `units.py`
                               Place      the path of a field in a record             `places.py`
              --series-->      Series     the texts of one place, in order            `series.py`
              --texts, tools-> Text       the meaning of a series: content or thinking, pieces or all so far
                               ToolUse    the fields of records about tool calls      `texts.py`, `tools.py`
                               End        how a stream ends                           `endings.py`
              --meanings_of--> Meaning    of one group: an Entry for each event of its rule  `meanings.py`
              --draft_of-->    Draft      the keys of a dialect, with comments        `draft.py`
              --tried-->       Trial      which rule took which frame, and what did not fit   `trial.py`
              --guarded-->     Draft      with a last rule for frames of unseen kinds  `unseen_frames.py`
              --learn-->       Learned    the file, its examples, the report          `learn.py`

Each step takes what the steps above it have found. A draft that fails its trial is changed and tried again.
Source: the dialect-file contract, section 10.
"""
