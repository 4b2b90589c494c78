/** The mirror of one project, as a sync run sees it: the port of the core, over SQL. */
import type { Mirror } from '../../core/mirror.ts'
import type { StreamName } from '../../core/row.ts'
import { createFields } from '../columns/fields.ts'
import { fillColumns } from '../columns/fill.ts'
import type { Db, Sessions } from '../database/session.ts'
import { growthOf } from '../database/statistics.ts'
import { countAhead, makeDueAhead } from './ahead.ts'
import type { Tally } from './cell.ts'
import { countUnseen, forgetCensus, removeSeen, seenIn, unseen } from './census.ts'
import { countDue, dueChildren, failChild, makeDue, wantKnownChildren } from './children.ts'
import { type Context, turns } from './context.ts'
import { toCheck } from './conversations.ts'
import { markDeleted } from './deletion.ts'
import { openGaps, resolveGaps } from './gaps.ts'
import { readBehaviours, readCursor } from './knowledge.ts'
import { createCommit } from './load.ts'
import { callBefore, earliest, latestMessage, type RowKey, rawOf, readRows } from './reader.ts'
import { readRollups } from './rollups.ts'
import { beatRun, finishRun, standings, startRun } from './runs.ts'
import { createUpsert } from './upsert.ts'
import { write } from './write.ts'

/** Reading the mirror back, to compare it with the service. */
export type Reader = {
  /** Living rows after a key, in key order; of a child stream, with `parent` only those of one parent. */
  readonly readRows: (
    stream: StreamName,
    after: RowKey | null,
    limit: number,
    parent?: string | null,
  ) => Promise<readonly { readonly key: RowKey; readonly raw: string }[]>
  /** Living rows among those ids, as JSON text. */
  readonly rawOf: (stream: StreamName, ids: readonly string[]) => Promise<ReadonlyMap<string, string>>
}

export type MirrorOptions = {
  /** `freeze`: undocumented fields get no columns of their own; they stay in `raw`. */
  readonly schema?: 'discover' | 'freeze'
  /** The lock that its runs run under. */
  readonly holder?: string
  /** Milliseconds since 1970. */
  readonly clock?: () => number
}

export function createMirror(db: Db, { kind }: Sessions, project: string, options: MirrorOptions): Mirror & Reader {
  let run: string | null = null
  const schema = options.schema ?? 'discover'
  const tally: Tally = { escaped: 0 }
  const c: Context = {
    db,
    kind,
    project,
    tally,
    upsert: createUpsert(db, kind),
    fields: createFields({ db, kind, project, schema }),
    clock: options.clock ?? Date.now,
    inTurn: turns(),
    run: () => run,
  }
  const commit = createCommit(c)
  const growth = growthOf(db, kind)
  return {
    commit: async (news) => {
      const committed = await commit(news)
      if (committed.changed > 0) await growth.grew(committed.changed)
      return committed
    },
    childFailed: (stream, parentId, why, againAt) => c.inTurn(() => failChild(c, stream, parentId, why, againAt)),
    cursor: (name) => readCursor(c, name),
    behaviours: () => readBehaviours(c),
    dueChildren: (stream, now, limit) => dueChildren(c, stream, now, limit),
    countDue: (stream, now) => countDue(c, stream, now),
    makeDue: (stream, which, now) => c.inTurn(() => makeDue(c, stream, which, now)),
    makeDueAhead: (horizon, most, now) => c.inTurn(() => makeDueAhead(c, horizon, most, now)),
    countAhead: (stream, horizon, most) => countAhead(c, stream, horizon, most),
    wantChildren: (stream, ids, now) => c.inTurn(() => write(c, (trx) => wantKnownChildren(c, trx, stream, ids, now))),
    unseen: (stream, census, where, after, limit) => unseen(c, stream, census, where, after, limit),
    countUnseen: (stream, census, where) => countUnseen(c, stream, census, where),
    forgetCensus: (census) => forgetCensus(c, census),
    toCheck: (limit) => seenIn(c, toCheck, limit),
    checked: (ids) => c.inTurn(() => write(c, (trx) => removeSeen(c, trx, toCheck, ids))),
    markDeleted: (stream, id, at) => c.inTurn(() => markDeleted(c, stream, id, at)),
    callBefore: (newest, until) => callBefore(c, newest, until),
    earliest: () => earliest(c),
    latestMessage: () => latestMessage(c),
    rollups: () => readRollups(c),
    standings: (streams) => standings(c, streams),
    resolveGaps: (stream, since) => c.inTurn(() => resolveGaps(c, stream, since)),
    openGaps: (stream) => openGaps(c, stream),
    startRun: async (mode, now) => {
      c.fields.forget()
      run = await startRun(c, mode, now, options.holder)
      if (schema === 'discover') await fillColumns(c)
      return run
    },
    beat: (id, requests, now) => beatRun(c, id, requests, now),
    finishRun: async (id, outcome, reports, now) => {
      await finishRun(c, id, outcome, reports, now)
      await growth.ended()
    },
    readRows: (stream, after, limit, parent) => readRows(c, stream, after, limit, parent),
    rawOf: (stream, ids) => rawOf(c, stream, ids),
  }
}
