/** A lake shows what the tables have, writes again only what changed, and survives being killed. */
import { createHash } from 'node:crypto'
import { existsSync, globSync, readFileSync, rmSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { parquetReadObjects } from 'hyparquet'
import { describe, expect, onTestFinished, test } from 'vitest'
import { eraseVisitor } from '../../src/app/erase.ts'
import { openMirror } from '../../src/app/facts.ts'
import { openWarehouse, type Warehouse } from '../../src/app/open.ts'
import { defaultConfig, defaultProject } from '../../src/config/config.ts'
import { type LakeManifest, readManifest } from '../../src/export/lake/manifest.ts'
import { type LakeRequest, writeLake } from '../../src/export/lake/write-lake.ts'
import { withSnapshot } from '../../src/export/sql/snapshot.ts'
import { secret } from '../../src/values/secret.ts'
import { lockFile } from '../../src/warehouse/sqlite-file.ts'
import { runInProcess } from '../cli/run-in-process.ts'
import { runDeskmirror } from '../cli/run-process.ts'
import { databases } from '../support/databases.ts'
import { createTestOnOne, sampledCount } from '../support/sampled.ts'
import { createTempFolder } from '../support/temp-folder.ts'
import { commit, conversation, message, recording, visitor } from '../warehouse/row-fixtures.ts'
import { exportBytes, openWorld } from './export-world.ts'

/** Long after all rows were written, so that their state counts. */
const later = () => Date.now() + 600_000

async function write(
  warehouse: Warehouse,
  folder: string,
  request: Partial<LakeRequest> = {},
  now = later,
) {
  const { signal } = new AbortController()
  const all = { folder, objects: [], isWhole: false, projectId: null, kept: [], ...request }
  return withSnapshot(warehouse.db, warehouse.pool, (snapshot) =>
    writeLake(all, { snapshot, now, signal, onProgress: () => {} }),
  )
}

const bytesOf = (path: string): ArrayBuffer => {
  const bytes = readFileSync(path)
  return bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length) as ArrayBuffer
}
const readFiles = async (paths: readonly string[]) =>
  (await Promise.all(paths.map((path) => parquetReadObjects({ file: bytesOf(path) })))).flat()

const byText = (rows: readonly unknown[]) =>
  rows
    .map((row) =>
      JSON.stringify(row, (_, value) => (typeof value === 'bigint' ? `${value}` : value)),
    )
    .sort()

/** As a program reads a folder. */
const readFolder = async (folder: string, object: string) =>
  byText(await readFiles(globSync(join(folder, object, '**/*.parquet'))))

const tableOf = async (warehouse: Warehouse, object: string) => {
  const bytes = await exportBytes(warehouse, object, 'parquet')
  return byText(await parquetReadObjects({ file: new Uint8Array(bytes).buffer as ArrayBuffer }))
}

/** As a program reads by the manifest: every file is what it says. */
async function readByManifest(folder: string, object: string) {
  const manifest = readManifest(folder) as LakeManifest
  const { partitions } = manifest.objects.find((found) => found.object === object)!
  const paths = partitions.map(({ path }) => join(folder, path))
  for (const [n, { sha256, bytes }] of partitions.entries()) {
    const content = readFileSync(paths[n]!)
    expect(createHash('sha256').update(content).digest('hex')).toBe(sha256)
    expect(content.length).toBe(bytes)
  }
  return byText(await readFiles(paths))
}

const writtenFiles = ({ objects }: Awaited<ReturnType<typeof write>>) =>
  Object.fromEntries(
    objects.flatMap(({ object, written }) => (written > 0 ? [[object, written]] : [])),
  )

const monthAt = (month: number) => new Date(Date.UTC(2026, month, 5)).toISOString().slice(0, 10)
const inMonth = (month: number) => ({ created_at: `${monthAt(month)}T08:00:00Z` })

const testOnOne = createTestOnOne()

for (const db of databases)
  describe(db.name, () => {
    async function openLake() {
      const { warehouse, database } = await openWorld(db)
      const mirror = openMirror(warehouse, 'main')
      const months = [0, 1, 2].map((n) => message('c2', 100 + n, inMonth(n)))
      await mirror.commit(commit('messages', [...months, message('c2', 200, { created_at: null })]))
      return { warehouse, database, mirror, folder: createTempFolder() }
    }

    test('every cell is as in the tables, by the folder and by the manifest', async () => {
      const { warehouse, folder } = await openLake()
      await write(warehouse, folder)
      await write(warehouse, folder, { objects: ['report_numbers', 'fct_*'] })
      const { objects } = readManifest(folder)!
      expect(objects.length).toBeGreaterThan(12)
      for (const { object, rows } of objects) {
        const table = await tableOf(warehouse, object)
        expect(await readFolder(folder, object), object).toEqual(table)
        expect(await readByManifest(folder, object), object).toEqual(table)
        expect(rows).toBe(table.length)
      }
      expect(globSync(join(folder, 'messages/*/*')).sort()).toEqual(
        ['2026-01', '2026-02', '2026-03', '__HIVE_DEFAULT_PARTITION__'].map((month) =>
          join(folder, `messages/month=${month}/data.parquet`),
        ),
      )
      // Nobody has to look for a folder that has no rows yet.
      expect(globSync(join(folder, 'calls/**/*.parquet'))).toHaveLength(1)
    })

    test('only months with changes are written again, whatever the change is', async () => {
      const { warehouse, mirror, folder } = await openLake()
      await write(warehouse, folder)
      expect(writtenFiles(await write(warehouse, folder))).toEqual({})
      const changed = async (change: () => Promise<unknown>) => {
        await change()
        const written = writtenFiles(await write(warehouse, folder))
        for (const object of Object.keys(written))
          expect(await readFolder(folder, object)).toEqual(await tableOf(warehouse, object))
        expect(writtenFiles(await write(warehouse, folder))).toEqual({})
        return written
      }
      const later = { requestedAt: Date.now() + 1000 }
      expect(
        await changed(() =>
          mirror.commit({
            ...commit('messages', [message('c2', 101, { ...inMonth(1), content: 'new' })]),
            ...later,
          }),
        ),
      ).toEqual({ messages: 1 })
      const history = openMirror(warehouse, 'main', { history: ['visitors'] })
      const replaceVisitor = (name: string, requestedAt: number) =>
        history.commit(commit('visitors', [visitor('v1', {}, { name })], { requestedAt }))
      await changed(() => replaceVisitor('Ann', later.requestedAt))
      expect(await changed(() => replaceVisitor('Eve', later.requestedAt + 5000))).toEqual({
        visitors: 1,
        visitors_history: 1,
      })
      expect(
        await changed(() =>
          warehouse.query(`update conversations set messages_complete = true where id = 'c1'`),
        ),
      ).toEqual({ conversations: 1 })
      expect(
        await changed(() =>
          warehouse.query(`delete from messages where conversation_id = 'c2' and id = 100`),
        ),
      ).toEqual({ messages: 1 })
      expect(
        await changed(() =>
          warehouse.query(
            `update conversations set deleted_at = '2026-05-01T00:00:00Z' where id = 'c2'`,
          ),
        ),
      ).toEqual({ conversations: 1 })
      // Read again, and found as it was.
      const readAt = (time: string) =>
        mirror.commit({ ...commit('call_recordings', [recording('c1', true, time)]), ...later })
      await readAt('2026-01-01T00:00:00Z')
      await write(warehouse, folder)
      expect(await changed(() => readAt('2026-01-02T00:00:00Z'))).toEqual({ call_recordings: 1 })
      // A month that has no rows any longer.
      await changed(() => warehouse.query(`delete from messages where id = 102`))
      expect(existsSync(join(folder, 'messages/month=2026-03'))).toBe(false)
    })

    testOnOne(
      db.name,
      'a person who is erased while it is written leaves it with the next run',
      async () => {
        const { warehouse, database, folder } = await openLake()
        const project = defaultProject({
          name: 'main',
          projectId: 'main',
          baseUrl: new URL('http://127.0.0.1:9'),
          apiKey: secret('svc_live_test'),
        })
        const config = defaultConfig({ databaseUrl: database.url, projects: [project] })
        const request = { folder, objects: [], isWhole: false, projectId: null, kept: [] }
        await withSnapshot(warehouse.db, warehouse.pool, async (snapshot) => {
          // From here on it shows this moment.
          await snapshot.readRemovals()
          const erased = await eraseVisitor(config, project, {
            visitor: 'v1',
            by: 'me',
            dryRun: false,
          })
          expect(erased.rows.visitors).toBe(1)
          const { signal } = new AbortController()
          await writeLake(request, { snapshot, now: later, signal, onProgress: () => {} })
        })
        const visitors = async () => (await readFolder(folder, 'visitors')).join()
        expect(await visitors()).toContain('"v1"')
        await write(warehouse, folder)
        expect(await visitors()).not.toContain('"v1"')
        const all = globSync(join(folder, '**/visitors/**/*.parquet'))
        expect((await readFiles(all)).some(({ id }) => id === 'v1')).toBe(false)
      },
    )

    testOnOne(db.name, 'a column that is new is in every file, and said', async () => {
      const { warehouse, mirror, folder } = await openLake()
      await write(warehouse, folder)
      const next = { requestedAt: Date.now() + 1000 }
      await mirror.commit({ ...commit('visitors', [visitor('v3', { tier: 'gold' })]), ...next })
      const { objects } = await write(warehouse, folder)
      expect(objects.flatMap(({ newColumns }) => newColumns)).toEqual(['tier'])
      expect(await readFolder(folder, 'visitors')).toEqual(await tableOf(warehouse, 'visitors'))
    })

    testOnOne(db.name, 'a row that was written a moment ago is looked at once more', async () => {
      const { warehouse, mirror, folder } = await openLake()
      const requestedAt = Date.now()
      await mirror.commit({ ...commit('messages', [message('c2', 101, inMonth(3))]), requestedAt })
      await write(warehouse, folder, {}, Date.now)
      // Twice within a second: neither counts nor sums show it.
      await warehouse.query(`update message_rows set content = 'twice' where id = 101`)
      expect(writtenFiles(await write(warehouse, folder))).toEqual({ messages: 1 })
      expect(await readFolder(folder, 'messages')).toEqual(await tableOf(warehouse, 'messages'))
    })

    testOnOne(
      db.name,
      'who reads by an earlier manifest has a day; of what was erased or cleaned nothing remains',
      async () => {
        const { warehouse, folder } = await openLake()
        await write(warehouse, folder)
        const before = readManifest(folder)!
        const old = before.objects.flatMap(({ partitions }) => partitions.map(({ path }) => path))
        const change = (text: string) =>
          warehouse.query(`delete from messages where conversation_id = 'c2' and id = ${text}`)
        const remaining = () => old.filter((path) => existsSync(join(folder, path))).length
        await change('101')
        // The files are old, and were replaced only now.
        for (const path of old) utimesSync(join(folder, path), 1, 1)
        await write(warehouse, folder)
        expect(remaining()).toBe(old.length)
        await write(warehouse, folder, {}, () => later() + 86_000_000)
        expect(remaining()).toBe(old.length)
        await write(warehouse, folder, {}, () => later() + 87_000_000)
        expect(remaining()).toBe(old.length - 1)
        await change('102')
        await warehouse.query(`insert into erased_ids (project_id, id) values ('main', 'c9')`)
        await write(warehouse, folder)
        expect(remaining()).toBe(old.length - 2)

        // Rows that are cleaned of a column that is blocked keep the time at which they were read.
        const { path } = readManifest(folder)!
          .objects.flatMap(({ partitions }) => partitions)
          .find(({ current }) => current.startsWith('messages/month=2026-01/'))!
        await warehouse.query('update message_rows set content = null where id = 1')
        await warehouse.query(`insert into sync_cursors (project_id, stream, position)
        values ('main', 'columns:messages', '{}')`)
        expect(writtenFiles(await write(warehouse, folder))).toEqual({ messages: 1 })
        expect(await readFolder(folder, 'messages')).toEqual(await tableOf(warehouse, 'messages'))
        expect(existsSync(join(folder, path))).toBe(false)
      },
    )
  })

test('a lake that is killed before any change of a file shows one moment, and is continued', async () => {
  const database = await databases[0]!.make()
  onTestFinished(database.drop)
  const warehouse = await database.open()
  const mirror = openMirror(warehouse, 'main')
  await mirror.commit(
    commit(
      'messages',
      [0, 1].map((n) => message('c2', 100 + n, inMonth(n))),
    ),
  )
  const folder = createTempFolder()
  let kills = 0
  for (let step = 1; ; step += sampledCount(2, 1)) {
    const lake = join(folder, `lake-${step}`)
    await write(warehouse, lake, { objects: ['messages'] })
    const before = await tableOf(warehouse, 'messages')
    await warehouse.query(`delete from messages where conversation_id = 'c2' and id = 101`)
    await mirror.commit({
      ...commit('messages', [message('c2', 102, inMonth(2))]),
      requestedAt: Date.now() + step * 1000,
    })
    const after = await tableOf(warehouse, 'messages')
    const preload = new URL('./kill-before-file-change.ts', import.meta.url).href
    const { exit } = await runDeskmirror(['export', '--lake', lake, '--quiet'], {
      cwd: folder,
      env: {
        DESKMIRROR_DATABASE_URL: database.url,
        LAKE: lake,
        KILL_BEFORE_FILE_CHANGE: String(step),
        NODE_OPTIONS: `--import=${preload}`,
      },
    })
    const shown = await readByManifest(lake, 'messages')
    expect([before, after]).toContainEqual(shown)
    const inFolder = await readFolder(lake, 'messages')
    expect(new Set(inFolder).size).toBe(inFolder.length)
    if (exit !== 0) kills += 1
    await write(warehouse, lake, { objects: ['messages'] })
    expect(await readByManifest(lake, 'messages')).toEqual(after)
    expect(await readFolder(lake, 'messages')).toEqual(after)
    expect(globSync(join(lake, '**/*.partial'))).toEqual([])
    await warehouse.query(`delete from messages where conversation_id = 'c2' and id = 102`)
    await mirror.commit({
      ...commit('messages', [message('c2', 101, inMonth(1))]),
      requestedAt: Date.now() + step * 1000 + 500,
    })
    if (exit === 0) break
  }
  expect(kills).toBeGreaterThan(sampledCount(2, 5))
})

test('whatever a view is called, its files are in a folder of its own', async () => {
  const { warehouse } = await openWorld(databases[0]!)
  const folder = join(createTempFolder(), 'lake')
  const names = ['..', '.', '_versions', 'a/b', 'a_b', 'manifest.json', 'Ünïcode']
  for (const [n, name] of names.entries())
    await warehouse.query(`create view "${name}" as select ${n} as n`)
  await write(warehouse, folder, { objects: names })
  const shown = readManifest(folder)!.objects.map(({ object, partitions }) => ({
    object,
    files: partitions.map(({ current }) => current),
  }))
  for (const [n, name] of names.entries()) {
    const [file] = shown.find(({ object }) => object === name)!.files
    expect(await readFiles([join(folder, file!)])).toEqual([{ n: BigInt(n) }])
    // Programs leave out what begins with a dot or an underscore.
    expect(file).toMatch(/^[^./_][^/]*\/data\.parquet$/)
  }
})

test('a manifest that names files outside of its folder is refused, and they stay', async () => {
  const { warehouse } = await openWorld(databases[0]!)
  const parent = createTempFolder()
  const folder = join(parent, 'lake')
  const victim = join(parent, 'victim')
  writeFileSync(victim, 'mine')
  for (const path of ['../victim', victim]) {
    rmSync(folder, { recursive: true, force: true })
    await write(warehouse, folder, { objects: ['visitors'] })
    const file = join(folder, 'manifest.json')
    const manifest = JSON.parse(readFileSync(file, 'utf8'))
    manifest.objects[0].partitions.push({
      ...manifest.objects[0].partitions[0],
      month: '1999-01',
      current: path,
    })
    writeFileSync(file, JSON.stringify(manifest))
    await expect(write(warehouse, folder)).rejects.toThrow('not a manifest')
    expect(existsSync(victim)).toBe(true)
  }
})

describe('the command', () => {
  async function open() {
    const cwd = createTempFolder()
    const url = `sqlite:${join(cwd, 'mirror.db')}`
    const warehouse = await openWarehouse(url)
    onTestFinished(() => warehouse.close())
    await openMirror(warehouse, 'main').commit(commit('conversations', [conversation('c1')]))
    const run = (...args: readonly string[]) =>
      runInProcess(['export', ...args], { cwd, env: { DESKMIRROR_DATABASE_URL: url } })
    return { cwd, run }
  }

  test('prints what it wrote', async () => {
    const { run } = await open()
    const { exit, out } = await run('--lake', 'lake')
    expect(exit).toBe(0)
    expect(out).toMatch(/^conversations +1 row +[\d.]+ kB +1 of 1 file written$/m)
    const { out: json } = await run('--lake', 'lake', '--json')
    expect(JSON.parse(json).objects[0]).toMatchObject({ object: 'conversations', written: 0 })
  })

  test('refuses what it cannot continue, and says what to do', async () => {
    const { cwd, run } = await open()
    expect((await run('--lake', 'lake')).exit).toBe(0)
    const release = lockFile(join(cwd, 'lake/.lock'), cwd)!
    const locked = await run('--lake', 'lake')
    expect([locked.exit, locked.err]).toEqual([1, expect.stringContaining('another process')])
    release()
    writeFileSync(join(cwd, 'lake/manifest.json'), '{"name":"an app"}')
    const foreign = await run('--lake', 'lake')
    expect([foreign.exit, foreign.err]).toEqual([2, expect.stringContaining('not a manifest')])
    const file = await run('--lake', 'mirror.db')
    expect([file.exit, file.err]).toEqual([2, expect.stringContaining('cannot write mirror.db')])
    const nothing = await run()
    expect([nothing.exit, nothing.err]).toEqual([2, expect.stringContaining('no table or view')])
    for (const folder of ['', 's3://bucket/lake']) {
      const unusable = await run('--lake', folder)
      expect([unusable.exit, unusable.err]).toEqual([2, expect.stringContaining('write a folder')])
    }
    const both = await run('--lake', 'lake', '--format', 'csv')
    expect([both.exit, both.err]).toEqual([2, expect.stringContaining('--format')])
  })
})
