/** What rows of the service cannot do to a terminal. */
import { expect, test } from 'vitest'
import { createTerminalWriter } from '../../src/cli/command-context.ts'

test('control characters of rows do not reach a terminal, whatever chunk they are in', async () => {
  const shown: string[] = []
  const write = createTerminalWriter(
    async (bytes) => void shown.push(Buffer.from(bytes).toString()),
  )
  const bytes = Buffer.from('id,name\r\n1,"Zoë\u001b]0;owned\u0007\u009b2J\u202e\t!"\r\n')
  for (let at = 0; at < bytes.length; at += 1) await write(bytes.subarray(at, at + 1))
  expect(shown.join('')).toBe('id,name \n1,"Zoë ]0;owned  2J \t!" \n')
})
