/** Finds the write-backs that a person names by parts of their ids. */
import type { OutboxAdmin } from '../core/outbox/admin.ts'
import { UserError } from '../core/user-error.ts'

/**
 * `parts`: ids, or unique beginnings or ends of them. Throws UserError if one matches no id or several.
 */
export async function resolveIds(
  admin: Pick<OutboxAdmin, 'findIds'>,
  parts: readonly string[],
): Promise<readonly string[]> {
  const found: string[] = []
  for (const part of parts) {
    const [id, ...others] = await admin.findIds(part)
    if (id === undefined) throw unchanged(`there is no write-back with the id ${part}`, '`writeback list` shows them')
    if (others.length > 0) throw unchanged(describeSeveral(part, [id, ...others]), 'write more of the id')
    found.push(id)
  }
  return [...new Set(found)]
}

function describeSeveral(part: string, ids: readonly string[]): string {
  return `several ids begin or end with ${part}: ${ids.join(', ')}${ids.length > 2 ? ', …' : ''}`
}

function unchanged(why: string, next: string): UserError {
  return new UserError({ what: 'nothing was changed', why, next, exitCode: 2 })
}
