/** Files with customers' data are private to their owner, and wider modes are reported. */
import { chmodSync, lstatSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { startSandbox } from '../../src/sandbox/sandbox.ts'
import { createTempFolder } from '../support/temp-folder.ts'
import { startWorkerProcess } from '../worker/worker-process.ts'
import { runInProcess } from './run-in-process.ts'

/**
 * The files that other users can access. A folder that they may not enter protects its contents.
 */
function exposedFiles(folder: string): string[] {
  return readdirSync(folder)
    .map(
      (path) =>
        [path, lstatSync(join(folder, path), { throwIfNoEntry: false })?.mode ?? 0] as const,
    )
    .filter(([, mode]) => (mode & 0o077) !== 0)
    .map(([path, mode]) => `${path} ${(mode & 0o777).toString(8)}`)
}

async function startService() {
  const size = { conversations: 3, visitors: 2, calls: 1, days: 1 }
  const sandbox = await startSandbox({ size, switches: { 'rate.kind': 'off' } })
  onTestFinished(() => sandbox.stop())
  const env = {
    DESKMIRROR_BASE_URL: sandbox.baseUrl,
    DESKMIRROR_PROJECT_ID: sandbox.projectId,
    DESKMIRROR_API_KEY: sandbox.key,
  }
  return { sandbox, env }
}

test('sync and the worker create private files', async () => {
  const { sandbox, env } = await startService()
  const folder = createTempFolder()
  expect(await runInProcess(['sync', '--quiet'], { cwd: folder, env })).toMatchObject({ exit: 0 })
  const worker = startWorkerProcess(
    { databaseUrl: `sqlite:${folder}/worker.db`, queueUrl: 'embedded' },
    sandbox,
  )
  await worker.waitFor(({ event }) => event === 'sync.ended')
  expect(readdirSync(folder)).toEqual(
    expect.arrayContaining(['deskmirror.db', 'worker.db', 'worker.db-wal', 'worker.db-worker']),
  )
  expect(exposedFiles(folder)).toEqual([])
})

test('the mode of existing files is kept; check reports it, and how to change it', async () => {
  const { env } = await startService()
  const folder = createTempFolder()
  const path = join(folder, 'deskmirror.db')
  writeFileSync(path, '')
  chmodSync(path, 0o644)
  expect(await runInProcess(['sync', '--quiet'], { cwd: folder, env })).toMatchObject({ exit: 0 })
  expect(exposedFiles(folder)).toEqual(['deskmirror.db 644'])
  const { exit, out } = await runInProcess(['check'], { cwd: folder, env })
  expect(exit).toBe(0)
  expect(out).toMatch(/! files +other users of this machine may read deskmirror\.db \(mode 644\)/)
  expect(out).toContain('→ unless this is intended: chmod go= deskmirror.db')
})
