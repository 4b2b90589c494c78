/** Finds the batch or the write-backs that a person names, and says what is near a name that does not exist. */
import { nearestNames } from '../values/nearest-names.ts'
import { UserError } from '../values/user-error.ts'
import type { BatchSummary } from './core/batches.ts'
import type { Outbox } from './sql/outbox.ts'

/** Names further back are not suggested. */
const namesConsidered = 10_000
const maxSuggestions = 3

/** `name`: a batch's name or a unique beginning of it. Throws UserError if there is none, or several. */
export async function requireBatch(admin: Outbox, name: string, what = 'nothing was changed'): Promise<BatchSummary> {
  const batch = await admin.findBatch(name)
  if (batch !== null) return batch
  const names = await admin.listBatchNames(namesConsidered)
  const [only, ...others] = name === '' ? [] : names.filter((known) => known.startsWith(name))
  const found = only === undefined || others.length > 0 ? null : await admin.findBatch(only)
  if (found !== null) return found
  const near = only === undefined ? nearBatches(name, names) : [only, ...others].slice(0, maxSuggestions)
  const why = others.length > 0 ? `several batches begin with ${name}` : `there is no write-back of a batch ${name}`
  const next = near.length > 0 ? `write ${near.join(' or ')}` : '`deskmirror writeback batches` lists them'
  throw new UserError({ what, why, next, exitCode: 2 })
}

/** Nobody types the digest at the end of a name, so names are also compared without it. The newest of each come first. */
function nearBatches(typed: string, names: readonly string[]): readonly string[] {
  const plain = new Set(nearestNames(withoutDigest(typed), [...new Set(names.map(withoutDigest))]))
  const near = [...nearestNames(typed, names), ...names.filter((name) => plain.has(withoutDigest(name)))]
  return [...new Set(near)].slice(0, maxSuggestions)
}

/** `replies-0123456789ab-revert` → `replies-revert` */
function withoutDigest(name: string): string {
  return name.replace(/-[0-9a-f]{12}(?=-revert|$)/, '')
}

/**
 * `parts`: ids, or unique beginnings or ends of them. Throws UserError if one matches no id or several.
 */
export async function resolveIds(
  admin: Pick<Outbox, 'findIds' | 'list'>,
  parts: readonly string[],
): Promise<readonly string[]> {
  const found: string[] = []
  const whole = await findWholeIds(admin, parts)
  for (const part of parts) {
    const [id, ...others] = whole.has(part) ? [part] : await admin.findIds(part)
    if (id === undefined) throw unchanged(`there is no write-back with the id ${part}`, '`writeback list` shows them')
    if (others.length > 0) throw unchanged(describeSeveral(part, [id, ...others]), 'write more of the id')
    found.push(id)
  }
  return [...new Set(found)]
}

/** A decision about what was shown names thousands by their whole ids. */
async function findWholeIds(admin: Pick<Outbox, 'list'>, parts: readonly string[]): Promise<ReadonlySet<string>> {
  const found = new Set<string>()
  const size = 1000
  for (let start = 0; parts.length > 1 && start < parts.length; start += size) {
    const ids = parts.slice(start, start + size)
    for (const { id } of await admin.list({ ids }, size)) found.add(id)
  }
  return found
}

function describeSeveral(part: string, ids: readonly string[]): string {
  return `several ids begin or end with ${part}: ${ids.join(', ')}${ids.length > 2 ? ', …' : ''}`
}

function unchanged(why: string, next: string): UserError {
  return new UserError({ what: 'nothing was changed', why, next, exitCode: 2 })
}
