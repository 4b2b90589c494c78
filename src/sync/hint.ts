/**
 * What a webhook delivery hints at is read again, by its ids, from the service itself: nothing of the delivery goes into
 * the mirror. Where it does not tell, the lists will.
 */
import { CallFailed } from '../core/failure.ts'
import { type HintedId, type HintedKind, readHint } from '../core/hint.ts'
import { type ChildStream, childStreams } from '../core/mirror.ts'
import { lists } from '../streams/catalog.ts'
import type { ListStream } from '../streams/stream.ts'
import type { Run } from './deps.ts'
import { sideBySide } from './side-by-side.ts'
import { isRefused } from './stop.ts'
import { type Reading, readAgain } from './vanished.ts'

export type HintDeps = Reading & {
  readonly streams: Run['streams']
  /** Which of these ids the mirror knows, and where. */
  readonly locate: (ids: readonly string[]) => Promise<ReadonlyMap<string, HintedKind>>
  /** What has been read already for the deliveries of this portion. Grows. */
  readonly outcomes: Map<string, Outcome>
}

type Outcome = 'read' | 'gone' | 'refused'

/** `found`: for a person. `lists`: an incremental pass over the lists is needed. */
export type HintTaken = { readonly found: string; readonly lists: boolean }

const atOnce = 8

/** Throws CallFailed where the service does not answer, or knows the key no more. */
export async function takeHint(deps: HintDeps, body: string): Promise<HintTaken> {
  const { ids, why } = readHint(body)
  const placed = await place(deps, ids)
  if (placed.size === 0) return { lists: true, found: `lists, as ${why ?? 'none of its ids is known'}` }
  const found: string[] = []
  for (const stream of lists) {
    const own = placed.get(stream.name) ?? []
    if (own.length > 0) found.push(`${stream.name}: ${counted(await readAll(deps, stream, own))}`)
  }
  return { lists: false, found: found.join('; ') }
}

/** By the table that has them; what the mirror knows is surer than a name. */
async function place(deps: HintDeps, ids: readonly HintedId[]): Promise<Map<HintedKind, string[]>> {
  const known = ids.length === 0 ? new Map<string, HintedKind>() : await deps.locate(ids.map(({ id }) => id))
  const placed = new Map<HintedKind, string[]>()
  for (const { id, kind: named } of ids) {
    const kind = known.get(id) ?? named
    if (kind !== null && deps.streams.has(kind)) placed.set(kind, [...(placed.get(kind) ?? []), id])
  }
  return placed
}

async function readAll(deps: HintDeps, stream: ListStream, ids: readonly string[]): Promise<Outcome[]> {
  return sideBySide(ids, atOnce, async (id) => {
    const name = `${stream.name}/${id}`
    const outcome = deps.outcomes.get(name) ?? (await readOne(deps, stream, id))
    deps.outcomes.set(name, outcome)
    return outcome
  })
}

async function readOne(deps: HintDeps, stream: ListStream, id: string): Promise<Outcome> {
  try {
    const [read] = await readAgain(deps, stream, [id], 'fresh')
    if (read === undefined || read.row === null) return 'gone'
    // A message or a recording may be new although the row above it looks as before.
    const children = (Object.keys(childStreams) as ChildStream[]).filter((it) => childStreams[it] === stream.name)
    for (const child of children) await deps.mirror.wantChildren(child, [id], deps.now())
    return 'read'
  } catch (error) {
    if (isRefused(error) || isForbidden(error)) return 'refused'
    throw error
  }
}

/** A missing scope, or an id of another project: that is no news about the key, which the next pass will try anyway. */
function isForbidden(error: unknown): boolean {
  return error instanceof CallFailed && error.failure.kind === 'denied' && error.failure.status === 403
}

/** `2 read, 1 gone`. */
function counted(outcomes: readonly Outcome[]): string {
  const sizes = [...Map.groupBy(outcomes, (it) => it)].map(([outcome, all]) => `${all.length} ${outcome}`)
  return sizes.sort().join(', ')
}
