/** What the settings do with what is stored, before a sync does it. Changes nothing. */
import { willDeriveAgain } from '../analytics/sql/project-facts.ts'
import { describeColumns, toColumnRules } from '../config/column-settings.ts'
import type { ProjectConfig } from '../config/config.ts'
import type { StatusReport } from '../maintenance/maintenance.ts'
import type { Mirror } from '../mirror/mirror.ts'
import { requireConfirmedZone } from '../mirror/sync/rollup-days.ts'
import { pluralize } from '../values/format.ts'
import { nearestNames } from '../values/nearest-names.ts'
import { coversPath } from '../values/private-columns.ts'
import type { UnseenRule } from '../values/unseen-rules.ts'
import { UserError } from '../values/user-error.ts'
import { openMirror } from './facts.ts'
import type { Warehouse } from './open.ts'

/** `streams`: the counts of `status`. */
export async function checkSettings(
  warehouse: Warehouse,
  project: ProjectConfig,
  streams: StatusReport['streams'],
) {
  const context = warehouse.projectDb(project.projectId)
  const mirror = openMirror(warehouse, project.projectId)
  return [
    ...columnItems(project, await mirror.findUnseenRules(toColumnRules(project))),
    ...(await storedColumnItems(mirror, project, streams)),
    ...(await analyticsItems(mirror, project, streams)),
    ...(await zoneItems(mirror, project)),
    ...((await willDeriveAgain(context, project)) ? [factsItem(streams)] : []),
  ]
}

/** None if nothing is private. */
export function columnItems({ columns }: ProjectConfig, unseen: readonly UnseenRule[]) {
  const set = describeColumns(columns)
  if (set === null) return []
  const item = { name: 'columns', state: 'ok', detail: set, hint: null } as const
  if (unseen.length === 0) return [item]
  const names = unseen.map(({ name }) => name).join(', ')
  const near = unseen.flatMap((rule) => rule.near)
  const correct = near.length === 0 ? '' : `perhaps ${near.join(', ')}; `
  return [
    {
      ...item,
      state: 'warning' as const,
      detail: `${set}. No stored row and no documentation of the service has ${names}`,
      hint: `${correct}if it is not mistyped, it is covered when it appears`,
    },
  ]
}

/** What is no longer mirrored is cleaned, but read again only when it is mirrored again. */
async function storedColumnItems(
  mirror: Mirror,
  project: ProjectConfig,
  counts: StatusReport['streams'],
) {
  const fields = await mirror.readFields()
  const planned = await mirror.readColumnChanges(toColumnRules(project))
  const changes = planned.map(({ stream, lax, cleaned, losesHashes }) => {
    const count = counts.find((counted) => counted.stream === stream)
    const isMirrored = project.streams.includes(stream)
    const toNames = (paths: readonly string[]) => paths.map((path) => `${stream}.${path}`)
    // A rule for every stream is about a field that most of them do not have.
    const hasField = (path: string) =>
      fields.some(
        (field) =>
          field.stream === stream && (coversPath(path, field.path) || coversPath(field.path, path)),
      )
    return {
      rows: (count?.rows ?? 0) + (count?.deleted ?? 0),
      stream,
      isMirrored,
      losesHashes,
      lax: isMirrored ? toNames(lax) : [],
      cleaned: toNames(cleaned.filter(hasField)),
    }
  })
  const item = { name: 'stored columns', state: 'warning' } as const
  const lax = changes.filter((change) => change.lax.length > 0)
  const cleaned = changes.filter((change) => change.cleaned.length > 0 && change.rows > 0)
  const reread = {
    ...item,
    detail:
      `stored without ${lax.flatMap((change) => change.lax).join(', ')}, or with another hash, ` +
      'as earlier settings or those of another worker say: the next sync reads all of it again ' +
      `(${lax.map(({ rows, stream }) => `${pluralize(rows, 'row')} of ${stream}`).join(', ')})` +
      (lax.some(({ losesHashes }) => losesHashes)
        ? ', and replaced versions lose their hashes'
        : ''),
    hint: 'if another worker has other settings, give it the same ones first',
  }
  const names = cleaned.map(
    (change) =>
      `${change.cleaned.join(', ')} in at most ${pluralize(change.rows, 'row')}` +
      (change.isMirrored ? '' : ', no longer mirrored'),
  )
  const clean = {
    ...item,
    detail: `the next sync removes, or hashes, what may no longer be stored: ${names.join('; ')}`,
    hint: 'if this is not intended, correct `columns` first: only the service has it then',
  }
  return [...(lax.length > 0 ? [reread] : []), ...(cleaned.length > 0 ? [clean] : [])]
}

/** What reads these fields takes the names exactly. */
async function analyticsItems(
  mirror: Mirror,
  { analytics: { calls, fields } }: ProjectConfig,
  counts: StatusReport['streams'],
) {
  const named = { calls, visitor_activity: fields }
  const known = await mirror.readFields()
  const unseen = Object.entries(named).flatMap(([stream, paths]) => {
    if (!counts.some((count) => count.stream === stream && count.rows > 0)) return []
    const own = known.filter((field) => field.stream === stream).map(({ path }) => path)
    const isSeen = (path: string) =>
      own.some((name) => `${name}.`.startsWith(`${path}.`) || path.startsWith(`${name}.`))
    const toNames = (found: readonly string[]) => found.map((path) => `${stream}.${path}`)
    return Object.values(paths).flatMap((path: string | null) =>
      path === null || isSeen(path)
        ? []
        : [{ names: toNames([path]), near: toNames(nearestNames(path, own)) }],
    )
  })
  if (unseen.length === 0) return []
  const names = unseen.flatMap((field) => field.names).join(', ')
  const near = unseen.flatMap((field) => field.near).join(', ')
  return [
    {
      name: 'analytics',
      state: 'warning' as const,
      detail: `no stored row has ${names}: what is counted by it is not known`,
      hint: `${near === '' ? '' : `perhaps ${near}; `}correct \`calls\` and \`fields\` of \`analytics\``,
    },
  ]
}

async function zoneItems(mirror: Mirror, { name, streams, timeZone }: ProjectConfig) {
  if (!streams.includes('analytics')) return []
  try {
    await requireConfirmedZone(mirror, { name, timeZone }, false)
    return []
  } catch (error) {
    if (!(error instanceof UserError)) throw error
    return [{ name: 'time zone', state: 'error' as const, detail: error.why, hint: error.next }]
  }
}

function factsItem(streams: StatusReport['streams']) {
  const rows = streams.find(({ stream }) => stream === 'conversations')?.rows ?? 0
  const detail =
    `the next sync derives the facts of ${pluralize(rows, 'conversation')} and of all visits ` +
    'again, as settings that they depend on, or the version of deskmirror, have changed'
  return { name: 'facts', state: 'warning' as const, detail, hint: null }
}
