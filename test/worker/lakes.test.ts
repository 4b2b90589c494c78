/** A worker keeps the lakes that are configured, whatever stops it. */
import { existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { openMirror } from '../../src/app/facts.ts'
import { type Config, defaultProject, type ProjectConfig } from '../../src/config/config.ts'
import type { Schedule } from '../../src/config/schedules.ts'
import { readManifest } from '../../src/export/lake/manifest.ts'
import { secret } from '../../src/values/secret.ts'
import { lockFile } from '../../src/warehouse/sqlite-file.ts'
import { runInProcess } from '../cli/run-in-process.ts'
import { sampled, sampledTest } from '../support/sampled.ts'
import { createTempFolder } from '../support/temp-folder.ts'
import { commit, conversation, message } from '../warehouse/row-fixtures.ts'
import { useWorkerStores, workerStores } from './fixtures.ts'
import { startWorkerInProcess, workerConfig } from './in-process-worker.ts'
import { startWorkerProcess } from './worker-process.ts'

const off = { kind: 'off' } as const
const schedules = {
  incremental: off,
  reconcile: off,
  analytics: off,
  availability: off,
  audit: off,
}
const project = (name: string, over: Partial<ProjectConfig> = {}) =>
  defaultProject({
    name,
    projectId: name,
    baseUrl: new URL('http://127.0.0.1:9/v1'),
    apiKey: secret('svc_live_test'),
    schedules,
    ...over,
  })

const every = (ms: number): Schedule => ({ kind: 'every', ms })
const lakeAt = (folder: string, schedule: Schedule, objects: readonly string[] = []) => ({
  folder,
  objects,
  schedule,
})
const rowsOf = (folder: string) =>
  Object.fromEntries(
    readManifest(folder)!.objects.flatMap(({ object, rows }) => (rows > 0 ? [[object, rows]] : [])),
  )

for (const { kind, make } of sampled(workerStores, ({ kind }) => kind !== 'embedded, Postgres'))
  describe(kind, () => {
    const stores = useWorkerStores(make)
    const mirror = (id: string) => openMirror(stores.warehouse, id)
    const start = (config: Partial<Config>, projects = [project('shop'), project('school')]) =>
      startWorkerInProcess(workerConfig(stores, projects, config))
    const openLake = async () => {
      for (const id of ['shop', 'school'])
        await mirror(id).commit(commit('conversations', [conversation(`c-${id}`)]))
      return join(createTempFolder(), 'lake')
    }

    test('a lake that is new is written at once, with all projects, and again by its schedule', async () => {
      const folder = await openLake()
      const own = join(folder, '../own')
      const school = project('school', {
        lake: lakeAt(own, { kind: 'nightly' }, ['conversations']),
      })
      const lake = lakeAt(folder, every(1500))
      const worker = await start({ lake }, [project('shop'), school])
      const written = (of: string) =>
        worker.waitFor(({ event, folder }) => event === 'lake.written' && folder === of)
      await written(folder)
      await written(own)
      expect(rowsOf(folder)).toEqual({ conversations: 2 })
      expect(rowsOf(own)).toEqual({ conversations: 1 })
      await mirror('shop').commit(commit('messages', [message('c-shop', 1)]))
      await worker.waitFor(({ event, rows }) => event === 'lake.written' && rows === 3)
      expect(rowsOf(folder)).toEqual({ conversations: 2, messages: 1 })
      expect(worker.log.filter(({ event }) => event === 'job.failed')).toEqual([])
    })

    test('a worker that stops leaves the lake as it was, and the next one writes it', async () => {
      const folder = await openLake()
      // Enough that it is not written within the moment in which the worker stops.
      for (let from = 0; from < 6000; from += 1000)
        await mirror('shop').commit(
          commit(
            'messages',
            Array.from({ length: 1000 }, (_, n) => message('c-shop', from + n)),
          ),
        )
      const first = await start({ lake: lakeAt(folder, { kind: 'nightly' }) })
      while (!existsSync(join(folder, '.lock'))) await new Promise(setImmediate)
      await first.stop()
      expect(first.log.map(({ event }) => event)).toContain('lake.interrupted')
      expect(readManifest(folder)).toBeNull()
      const second = await start({ lake: lakeAt(folder, { kind: 'nightly' }) })
      await second.waitFor(({ event }) => event === 'lake.written')
      expect(rowsOf(folder)).toEqual({ conversations: 2, messages: 6000 })
    })

    // In Redis, the lock of the killed worker's job ends after half a minute.
    sampledTest(
      kind === 'embedded',
      'a worker that is killed while it writes leaves the lake as it was, and the next one writes it',
      async () => {
        const folder = await openLake()
        const preload = new URL('../export/kill-before-file-change.ts', import.meta.url).href
        const names = ['INCREMENTAL', 'RECONCILE', 'ANALYTICS', 'AVAILABILITY', 'AUDIT']
        const killed = startWorkerProcess(
          stores,
          { baseUrl: 'http://127.0.0.1:9/v1', projectId: 'shop', key: 'svc_live_test' },
          {
            ...Object.fromEntries(names.map((name) => [`DESKMIRROR_SCHEDULE_${name}`, 'off'])),
            DESKMIRROR_LAKE: folder,
            LAKE: folder,
            KILL_BEFORE_FILE_CHANGE: '9',
            NODE_OPTIONS: `--import=${preload}`,
          },
        )
        expect(await killed.ended).toBeNull()
        expect(existsSync(join(folder, 'messages'))).toBe(false)
        expect(readManifest(folder)).toBeNull()
        const worker = await startWorkerInProcess(
          workerConfig(stores, [project('shop')], { lake: lakeAt(folder, { kind: 'nightly' }) }),
          { lockMs: 1000 },
        )
        await worker.waitFor(({ event }) => event === 'lake.written')
        expect(rowsOf(folder)).toEqual({ conversations: 2 })
      },
      90_000,
    )
  })

describe('in a worker with the embedded queue', () => {
  const stores = useWorkerStores(workerStores[0]!.make)
  const start = (config: Partial<Config>) =>
    startWorkerInProcess(workerConfig(stores, [project('shop')], config))

  test('a lake has all that is mirrored once the setting names no objects any more', async () => {
    const folder = join(createTempFolder(), 'lake')
    const objects = () => readManifest(folder)?.objects.map(({ object }) => object)
    const write = async (names: readonly string[]) => {
      const worker = await start({ lake: lakeAt(folder, every(500), names) })
      await worker.waitFor(({ event }) => event === 'lake.written')
      await worker.stop()
    }
    await write(['messages', 'fct_wait'])
    expect(objects()?.toSorted()).toEqual(['fct_wait', 'messages'])
    await write([])
    expect(objects()).toEqual(expect.arrayContaining(['fct_wait', 'visitors', 'visitors_history']))
  })

  test('a lake that cannot be written is a failing job, in status and check, until it can be', async () => {
    const cwd = createTempFolder()
    const folder = join(cwd, 'lake')
    writeFileSync(folder, 'a file')
    const worker = await start({ lake: lakeAt(folder, every(1000)) })
    await worker.waitFor(({ event, job }) => event === 'job.failed' && job === 'lake')
    const run = (command: string) =>
      runInProcess([command], {
        cwd,
        env: {
          DESKMIRROR_DATABASE_URL: stores.databaseUrl,
          DESKMIRROR_BASE_URL: 'http://127.0.0.1:9/v1',
          DESKMIRROR_PROJECT_ID: 'shop',
          DESKMIRROR_API_KEY: 'svc_live_test',
          DESKMIRROR_LAKE: 'lake',
        },
      })
    expect((await run('status')).out).toMatch(/^failing for .*: lake .*cannot write/m)
    expect((await run('check')).out).toMatch(/^✗ lake +cannot write lake/m)
    rmSync(folder)
    await worker.waitFor(({ event, job }) => event === 'job.recovered' && job === 'lake')
    expect((await run('status')).out).toMatch(/^lake +lake, 0 rows, as of/m)
    expect((await run('check')).out).toMatch(/^✓ lake +lake, written at 20/m)
  })

  test('a lake that another process writes is no failure', async () => {
    const folder = join(createTempFolder(), 'lake')
    mkdirSync(folder)
    const release = lockFile(join(folder, '.lock'), folder)!
    const worker = await start({ lake: lakeAt(folder, every(1000)) })
    await worker.waitFor(({ event, why }) => event === 'lake.busy' && why !== undefined)
    release()
    expect(worker.log.filter(({ event }) => event === 'job.failed')).toEqual([])
  })

  test('what is no longer listed leaves the lake; a reload brings another schedule', async () => {
    const folder = join(createTempFolder(), 'lake')
    const nightly = { kind: 'nightly' } as const
    const worker = await start({ lake: lakeAt(folder, nightly, ['conversations', 'calls']) })
    await worker.waitFor(({ event }) => event === 'lake.written')
    expect(readManifest(folder)!.objects.map(({ object }) => object)).toEqual([
      'conversations',
      'calls',
    ])
    const lake = lakeAt(folder, every(1000), ['calls'])
    expect(worker.reload(workerConfig(stores, [project('shop')], { lake }))).toEqual([])
    await worker.waitFor(({ event, files }) => event === 'lake.written' && files === 1)
    expect(existsSync(join(folder, 'conversations'))).toBe(false)
  })
})
