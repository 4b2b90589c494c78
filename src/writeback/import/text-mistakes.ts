/** Refuses texts that a program damaged before the file was saved: a customer would read them. */
import { type RequestMistake, toMistake } from '../../core/outbox/request-mistake.ts'
import type { RequestParseResult } from '../../core/outbox/writeback-request.ts'
import { textDamage } from './spreadsheet-damage.ts'

export function withTextMistakes(result: RequestParseResult): RequestParseResult {
  if (!result.ok) return result
  const mistakes = Object.entries(result.request.payload).flatMap(([field, value]): RequestMistake[] => {
    const damage = typeof value === 'string' ? textDamage(value) : undefined
    return damage === undefined ? [] : [toMistake(field, damage, value)]
  })
  return mistakes.length === 0 ? result : { ok: false, mistakes }
}
