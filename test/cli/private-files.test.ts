/** What is written holds what customers wrote: files are for their owner only, and who has wider ones is told. */
import { chmodSync, lstatSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { startSandbox } from '../../src/sandbox/sandbox.ts'
import { startWorkerProcess } from '../app/worker/worker-process.ts'
import { emptyFolder, runDeskmirror } from './run-process.ts'

/** What others may get at. What is in a folder that they may not enter is out of their reach, whatever its mode. */
function exposed(folder: string): string[] {
  return readdirSync(folder)
    .map((path) => [path, lstatSync(join(folder, path), { throwIfNoEntry: false })?.mode ?? 0] as const)
    .filter(([, mode]) => (mode & 0o077) !== 0)
    .map(([path, mode]) => `${path} ${(mode & 0o777).toString(8)}`)
}

async function service() {
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

test('sync and the worker keep what they write to themselves', async () => {
  const { sandbox, env } = await service()
  const folder = emptyFolder()
  expect(await runDeskmirror(['sync', '--quiet'], { cwd: folder, env })).toMatchObject({ exit: 0 })
  const worker = startWorkerProcess({ databaseUrl: `sqlite:${folder}/desk.db`, queueUrl: 'embedded' }, sandbox)
  await worker.waitFor(({ event }) => event === 'pass.ended')
  expect(readdirSync(folder)).toEqual(
    expect.arrayContaining(['deskmirror.db', 'desk.db', 'desk.db-wal', 'desk.db-queue']),
  )
  expect(exposed(folder)).toEqual([])
})

test('files that others may read are left as they are; check says so, and how to change it', async () => {
  const { env } = await service()
  const folder = emptyFolder()
  const path = join(folder, 'deskmirror.db')
  writeFileSync(path, '')
  chmodSync(path, 0o644)
  expect(await runDeskmirror(['sync', '--quiet'], { cwd: folder, env })).toMatchObject({ exit: 0 })
  expect(exposed(folder)).toEqual(['deskmirror.db 644'])
  const { exit, out } = await runDeskmirror(['check'], { cwd: folder, env })
  expect(exit).toBe(0)
  expect(out).toMatch(/! files +other users of this machine may read deskmirror\.db \(mode 644\)/)
  expect(out).toContain('→ unless that is wanted: chmod go= deskmirror.db')
})
