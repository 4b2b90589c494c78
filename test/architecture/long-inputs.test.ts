import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'

test('every parser handles long runs of one character', async () => {
  const script = fileURLToPath(new URL('long-inputs.ts', import.meta.url))
  const { stdout } = await promisify(execFile)(process.execPath, [script], {
    timeout: 230_000,
    killSignal: 'SIGKILL',
  })
  expect(stdout.endsWith('all parsed\n')).toBe(true)
})
