/**
 * Brings what is stored into line with `columns` before the streams of a run are read, under their
 * locks: rows are cleaned, or requested again. It goes on where it was interrupted.
 */
import type { StreamName } from '../../schema/stream-specs.ts'
import { toColumnRules } from '../config/column-settings.ts'
import type { ProjectConfig } from '../config/config.ts'
import type { Logger } from '../log.ts'
import { compactRewritten } from '../maintenance/sql/compact.ts'
import { allStreams } from '../mirror/core/streams.ts'
import type { Mirror, StreamReport, SyncProgress } from '../mirror/mirror.ts'
import { findPendingKind } from '../mirror/sql/pending-facts.ts'
import { compactionCursor, readLaxColumns } from '../mirror/sql/sync-state.ts'
import { createOutbox } from '../outbox/sql/outbox.ts'
import { pluralize } from '../values/format.ts'
import type { ColumnRules } from '../values/private-columns.ts'
import type { Warehouse } from './open.ts'

type ApplyOptions = {
  readonly streams: readonly StreamName[]
  readonly rules: ColumnRules
  readonly mirror: Mirror
  readonly signal: AbortSignal
  readonly isSliceOver?: (() => boolean) | undefined
  readonly onProgress: (progress: SyncProgress) => void
  readonly log: Logger
}

/**
 * Sentences for users; none if nothing has changed. What the project no longer mirrors is cleaned,
 * too.
 */
export async function applyColumns(
  warehouse: Warehouse,
  project: ProjectConfig,
  options: ApplyOptions,
): Promise<readonly string[]> {
  const { streams, rules, mirror, signal, isSliceOver, onProgress, log } = options
  const context = warehouse.projectDb(project.projectId)
  const outbox = createOutbox(context)
  const states = await mirror.readColumnStates()
  const affected = allStreams.filter(
    ({ name }) =>
      (streams.includes(name) || !project.streams.includes(name)) &&
      (states.has(name) || rules.describe(name).columns.length > 0),
  )
  const reread: string[] = []
  const emptied: string[] = []
  for (const { name } of affected) {
    if (name === 'visitors') await outbox.forgetEnded(rules)
    const toReread = await mirror.beginColumns(name, rules, Date.now(), project.loadedAt)
    // What is no longer mirrored is read again only when it is mirrored again.
    if (toReread.length > 0 && streams.includes(name))
      reread.push(`${name} (${toReread.join(', ')})`)
  }
  const begun = affected.length === 0 ? states : await mirror.readColumnStates()
  for (const stream of affected) {
    const { name } = stream
    if ((begun.get(name)?.cleaning ?? null) === null) continue
    if (name === 'visitors') await outbox.forgetPrivate(rules)
    let [rows, changed] = [0, 0]
    for (let isDone = false; !isDone && !signal.aborted && isSliceOver?.() !== true; ) {
      const cleaned = await mirror.cleanColumns(stream, rules)
      isDone = cleaned.isDone
      rows += cleaned.rows
      changed += cleaned.changed
      if (cleaned.rows > 0)
        onProgress({ stream: name, state: 'running', rows, changed, requests: 0, left: null })
    }
    if (changed === 0) continue
    log.info({ event: 'columns.cleaned', project: project.name, stream: name, rows, changed })
    emptied.push(`${pluralize(changed, 'row')} of ${name}`)
  }
  const notices = [
    reread.length > 0 &&
      'Read again, because the stored values cannot be turned into what `columns` asks for ' +
        `now: ${reread.join(', ')}.`,
    emptied.length > 0 &&
      `Cleaned of what \`columns\` no longer allows: ${emptied.join(', ')}. \`deskmirror verify ` +
        '--private` says whether any of it is left, and where.',
  ]
  return notices.filter((notice) => notice !== false)
}

/** For what is stored beside a sync: all that is private by them, or in stored rows. */
export async function strictestRules(
  { projectDb }: Warehouse,
  project: ProjectConfig,
): Promise<ColumnRules> {
  const lax = await readLaxColumns(projectDb(project.projectId), toColumnRules(project))
  return toColumnRules({ ...project, columns: [...project.columns, ...lax] })
}

/** Null: all columns that the setting names are known, from this run or before. */
export async function unseenNotice(
  mirror: Mirror,
  rules: ColumnRules,
  reports: readonly StreamReport[],
): Promise<string | null> {
  await mirror.rememberSeenRules(rules)
  const isRead = (stream: string) =>
    reports.some((report) => report.rows > 0 && (stream === '*' || report.stream === stream))
  const unseen = (await mirror.findUnseenRules(rules)).filter(({ stream }) => isRead(stream))
  if (unseen.length === 0) return null
  const near = unseen.flatMap((rule) => rule.near)
  return (
    `No row has shown ${unseen.map(({ name }) => name).join(', ')} so far, which \`columns\` ` +
    `names${near.length === 0 ? '' : ` (perhaps ${near.join(', ')})`}; if it is not mistyped, ` +
    'it is covered when it appears.'
  )
}

/** Once facts and searched words are made of clean rows, the files of the database are cleaned. */
export async function finishColumns(
  { db, kind, projectDb }: Warehouse,
  { projectId }: ProjectConfig,
  mirror: Mirror,
): Promise<void> {
  const context = projectDb(projectId)
  if ((await mirror.readCursor(compactionCursor)) === null) return
  const states = [...(await mirror.readColumnStates()).values()]
  if (states.some(({ cleaning }) => cleaning !== null)) return
  if ((await findPendingKind(context)) !== null) return
  if (await compactRewritten(db, kind)) await mirror.writeCursor(compactionCursor, null)
}
