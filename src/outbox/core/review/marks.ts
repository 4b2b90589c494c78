/** What to look at before a row is sent: text that a program has probably changed, a new sender. */
import { findTextChange, isCutAtComma } from '../../../values/damaged-text.ts'
import type { WritebackRequest } from '../writeback-request.ts'

export function senderOf(request: WritebackRequest | null | undefined): string | null {
  return request?.operation === 'message' ? request.payload.sender_name : null
}

/** Sentences about its texts, each beginning with the name of the field. */
export function describeTextChanges(request: WritebackRequest): readonly string[] {
  const sentences = Object.entries(request.payload).flatMap(([field, value]) => {
    const change = typeof value === 'string' ? findTextChange(value) : null
    if (change === null) return []
    const was =
      change.probably === null ? '' : `; it was probably ${JSON.stringify(change.probably)}`
    return [`${field} has ${change.what} (${change.found}), as another program writes it${was}`]
  })
  return isCutReply(request) ? [...sentences, cutReply] : sentences
}

const cutReply =
  'content opens a quote that sender_name closes: the text was probably cut at a comma'

function isCutReply(request: WritebackRequest): boolean {
  return (
    request.operation === 'message' &&
    isCutAtComma(request.payload.content, request.payload.sender_name)
  )
}

/** `isNewSender`: no earlier reply of the warehouse, and no other row, has this sender. */
export function findMarks(
  request: WritebackRequest | null,
  isNewSender: boolean,
): readonly string[] {
  if (request === null) return []
  const sender = isNewSender
    ? [`the sender ${JSON.stringify(senderOf(request))} is new: no earlier reply has it`]
    : []
  return [...describeTextChanges(request), ...sender]
}
