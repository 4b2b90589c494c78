/** How far back the rollups go. Nothing in the API says so: it is seen from the rows, once the lists have been read. */
import type { StreamName } from '../core/row.ts'
import type { Seconds } from '../core/time.ts'
import { lists } from '../streams/catalog.ts'
import type { Run } from './deps.ts'

export type History =
  | { readonly kind: 'known'; readonly from: Seconds }
  /** These lists have never been read to their end, so that any row may still be the earliest. */
  | { readonly kind: 'waiting'; readonly lists: readonly StreamName[] }
  /** No row tells, and none will: neither conversations nor visitors nor calls can be read. */
  | { readonly kind: 'unknown' }
  /** The lists have been read, and are empty. */
  | { readonly kind: 'empty' }

type Asking = Pick<Run, 'mirror' | 'mirrored' | 'startDate'>

/** `here`: how the lists stand after this very run, which the warehouse does not know yet. */
export async function historyOf(
  { mirror, mirrored, startDate }: Asking,
  here: ReadonlyMap<StreamName, 'ended' | 'skipped'> = new Map(),
): Promise<History> {
  if (startDate !== null) return { kind: 'known', from: startDate }
  const telling = lists.map(({ name }) => name).filter((name) => mirrored.has(name))
  const before = await mirror.standings(telling)
  const standing = (name: StreamName) => (before.get(name) === 'ended' ? 'ended' : (here.get(name) ?? before.get(name)))
  const waiting = telling.filter((name) => !['ended', 'skipped'].includes(standing(name) ?? ''))
  if (waiting.length > 0 && (await mirror.rollups()).length === 0) return { kind: 'waiting', lists: waiting }
  const from = await mirror.earliest()
  if (from !== null) return { kind: 'known', from }
  return { kind: telling.some((name) => standing(name) === 'ended') ? 'empty' : 'unknown' }
}
