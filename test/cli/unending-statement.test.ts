/**
 * Commands that read a file whose view never ends: Ctrl-C ends them, as no statement of SQLite can
 * be interrupted.
 */

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readdirSync, watch } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { openMirror } from '../../src/app/facts.ts'
import { openWarehouse } from '../../src/app/open.ts'
import { createTempFolder } from '../support/temp-folder.ts'
import { commit, visitor } from '../warehouse/row-fixtures.ts'
import { cleanEnvironment, launcher } from './run-process.ts'

const unending =
  'with recursive n (i) as (select 1 union all select i + 1 from n) select id from visitors, n where i < 0'

/** Starts a command, interrupts it once `isReading`, and returns how it ended and what it said. */
async function interrupt(args: readonly string[], cwd: string, isReading: Promise<unknown>) {
  const env = cleanEnvironment({
    DESKMIRROR_DATABASE_URL: 'sqlite:mirror.db',
    DESKMIRROR_PROJECT_ID: 'p-1',
  })
  const child = spawn(process.execPath, [launcher, ...args], {
    cwd,
    env,
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  onTestFinished(() => void child.kill('SIGKILL'))
  let said = ''
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    said += text
  })
  await isReading
  child.kill('SIGINT')
  const [exit, signal] = await once(child, 'close')
  return { exit, signal, said }
}

describe('a view that never ends', () => {
  test('an export says that it was interrupted, and leaves no file', async () => {
    const cwd = createTempFolder()
    const warehouse = await openWarehouse(`sqlite:${join(cwd, 'mirror.db')}`)
    await openMirror(warehouse, 'p-1').commit(commit('visitors', [visitor('v1')]))
    await warehouse.query(`create view unending as ${unending}`)
    await warehouse.close()
    const folder = createTempFolder()
    const started = Promise.withResolvers<void>()
    const watcher = watch(folder, () => started.resolve())
    onTestFinished(() => watcher.close())
    const args = ['export', 'unending', '--output', join(folder, 'u.csv')]
    const { signal, said } = await interrupt(args, cwd, started.promise)
    expect([signal, said]).toEqual([
      'SIGINT',
      expect.stringContaining('the export was interrupted'),
    ])
    expect(readdirSync(folder)).toEqual([])
  })
})
