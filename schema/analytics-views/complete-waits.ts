/**
 * The waits whose durations count, as what follows `from`: those of conversations of which no message, time or sender is
 * missing. `w` is the wait, `c` its conversation.
 */
export const completeWaits = `fct_wait w
        join fct_conversation c
          on c.project_id = w.project_id and c.conversation_id = w.conversation_id and c.is_complete`
