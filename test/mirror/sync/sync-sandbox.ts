/**
 * Syncs a sandbox into a warehouse with the real program, and compares the mirror with the
 * sandbox's rows.
 */

import { pino } from 'pino'
import {
  isChildStream,
  type StreamName,
  streamNames,
  streamSpecs,
} from '../../../schema/stream-specs.ts'
import { openMirror } from '../../../src/app/facts.ts'
import type { Warehouse } from '../../../src/app/open.ts'
import { type SyncOptions, syncProject } from '../../../src/app/sync.ts'
import { verifyProject } from '../../../src/app/verify.ts'
import {
  type Config,
  defaultConfig,
  defaultProject,
  type ProjectConfig,
} from '../../../src/config/config.ts'
import type { SyncReport } from '../../../src/mirror/core/reports.ts'
import type { Sandbox } from '../../../src/sandbox/sandbox.ts'
import type { Json } from '../../../src/values/json.ts'
import { parseJson, stringifyJson } from '../../../src/values/json.ts'
import { secret } from '../../../src/values/secret.ts'

/** The window is short because the budget records every request of a window. */
export const unlimited = { requests: 1e9, windowMs: 100 }

/** Once, as checking the settings takes a twentieth of a small sync. */
const usualProject = defaultProject({
  name: 'shop',
  projectId: '',
  baseUrl: new URL('http://unused'),
  apiKey: secret('unused'),
  rate: unlimited,
  writeRate: unlimited,
})
const usualConfig = defaultConfig({
  projects: [],
  http: null,
  concurrency: 1,
  logLevel: 'silent',
})

export function projectConfigOf(
  sandbox: Pick<Sandbox, 'projectId' | 'baseUrl' | 'widgetUrl' | 'key'>,
  over: Partial<ProjectConfig> = {},
): ProjectConfig {
  return {
    ...usualProject,
    projectId: sandbox.projectId,
    baseUrl: new URL(sandbox.baseUrl),
    widgetUrl: new URL(sandbox.widgetUrl),
    apiKey: secret(sandbox.key),
    ...over,
  }
}

export function configOf(databaseUrl: string, project: ProjectConfig): Config {
  return { ...usualConfig, projects: [project], databaseUrl }
}

type ConfigOverrides = { readonly project?: Partial<ProjectConfig>; readonly queueUrl?: string }
export type SyncOverrides = Partial<SyncOptions> & ConfigOverrides

/** One run of `deskmirror sync`. */
export function syncOnce(
  databaseUrl: string,
  sandbox: Sandbox,
  over: SyncOverrides = {},
): Promise<SyncReport> {
  const project = projectConfigOf(sandbox, over.project)
  const { queueUrl } = over
  const config = {
    ...configOf(databaseUrl, project),
    ...(queueUrl === undefined ? {} : { queueUrl }),
  }
  return syncProject(config, project, {
    mode: 'incremental',
    streams: streamNames,
    wait: false,
    signal: new AbortController().signal,
    onProgress: () => {},
    onBudget: () => {},
    log: pino({ level: 'silent' }),
    ...over,
  })
}

export function verifyOnce(databaseUrl: string, sandbox: Sandbox) {
  const project = projectConfigOf(sandbox)
  const { signal } = new AbortController()
  return verifyProject(configOf(databaseUrl, project), project, {
    streams: streamNames,
    limit: 1,
    signal,
    onProgress: () => {},
    log: pino({ level: 'silent' }),
  })
}

export type RowDifference = {
  stream: StreamName
  key: string
  how: 'missing' | 'extra' | 'different'
  here?: string
  there?: string
}

const compared = [
  'conversations',
  'messages',
  'visitors',
  'visitor_activity',
  'calls',
  'call_recordings',
] as const
type Compared = (typeof compared)[number]

/** What comparing needs of a sandbox, with or without a network. */
type SandboxRows = Pick<Sandbox, 'truth' | 'projectId'>

/** Every row that differs between the mirror and the sandbox. */
export async function findDifferences(
  warehouse: Warehouse,
  sandbox: SandboxRows,
  projectId = sandbox.projectId,
  streams: readonly Compared[] = compared,
): Promise<RowDifference[]> {
  const mirror = openMirror(warehouse, projectId)
  const found: RowDifference[] = []
  for (const stream of streams) {
    const there = sandboxRows(sandbox, stream, projectId)
    const here = new Map<string, string>()
    for (let after: readonly string[] | null = null; ; ) {
      const rows: Awaited<ReturnType<typeof mirror.readRows>> = await mirror.readRows(
        stream,
        after,
        1000,
      )
      for (const { key, raw } of rows) {
        if (stream === 'call_recordings' && raw === '{}') continue
        const name = stream === 'visitor_activity' ? countedKey(here, key[0]!, raw) : key.join('/')
        here.set(name, canonical(parseJson(raw)))
      }
      if (rows.length === 0) break
      after = rows.at(-1)!.key
    }
    for (const [key, row] of there) {
      const mirrored = here.get(key)
      if (mirrored === undefined) found.push({ stream, key, how: 'missing', there: row })
      else if (mirrored !== row)
        found.push({ stream, key, how: 'different', here: mirrored, there: row })
    }
    for (const [key, row] of here)
      if (!there.has(key)) found.push({ stream, key, how: 'extra', here: row })
  }
  return found
}

function sandboxRows(
  sandbox: SandboxRows,
  stream: Compared,
  projectId: string,
): Map<string, string> {
  const rows = new Map<string, string>()
  for (const { id, parentId, row } of sandbox.truth(stream, projectId)) {
    // As JSON text, as the API sends it: that decides about lone surrogates and big integers.
    const json = canonical(parseJson(stringifyJson(row as Json)))
    if (stream === 'visitor_activity') rows.set(countedKey(rows, parentId!, json), json)
    else if (stream === 'messages')
      rows.set(`${parentId}/${(parseJson(json) as { id: number | bigint }).id}`, json)
    else rows.set([parentId, id].filter((part) => part !== null).join('/'), json)
  }
  return rows
}

/** Numbers the entries of a visitor, because they may be identical. */
function countedKey(rows: ReadonlyMap<string, string>, parent: string, raw: string): string {
  const text = canonical(parseJson(raw))
  for (let n = 0; ; n++) if (!rows.has(`${parent}/${text}/${n}`)) return `${parent}/${text}/${n}`
}

function canonical(value: Json): string {
  return stringifyJson(withSortedKeys(value))
}

function withSortedKeys(value: Json): Json {
  if (Array.isArray(value)) return value.map(withSortedKeys)
  if (typeof value !== 'object' || value === null) return value
  const fields = value as { readonly [field: string]: Json }
  const names = Object.keys(fields).sort()
  return Object.fromEntries(names.map((name) => [name, withSortedKeys(fields[name]!)]))
}

/** Differences that neither a gap of the stream nor a flag on the conversation explains. */
export async function unexplainedDifferences(
  warehouse: Warehouse,
  sandbox: SandboxRows,
  streams?: readonly Compared[],
): Promise<RowDifference[]> {
  const mirror = openMirror(warehouse, sandbox.projectId)
  const incomplete = await warehouse.query(
    `select id from conversations where not messages_complete`,
  )
  const flagged = new Set(incomplete.map((row) => String(row.id)))
  const found: RowDifference[] = []
  const all = await findDifferences(warehouse, sandbox, sandbox.projectId, streams)
  // The children of a missing row are missing, too.
  const missing = new Set(
    all.filter(({ how }) => how === 'missing').map(({ stream, key }) => `${stream}/${key}`),
  )
  for (const difference of all) {
    const { stream, key, how } = difference
    // If the service does not list all messages, some may be missing or changed, or deleted unseen.
    if (stream === 'messages' && flagged.has(key.split('/')[0]!)) continue
    const root = isChildStream(stream) ? streamSpecs[stream].parent : stream
    if (
      how === 'missing' &&
      (await mirror.listOpenGaps(stream)).length > 0 &&
      stream !== 'messages'
    )
      continue
    if (how === 'missing' && missing.has(`${root}/${key.split('/')[0]}`)) continue
    found.push(difference)
  }
  return found
}
