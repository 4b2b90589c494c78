/** The sandbox in its own process, without a rate limit. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'

export const launcher = fileURLToPath(new URL('../bin/deskmirror.js', import.meta.url))

/** `environment`: the variables with which commands reach it. */
export type SandboxProcess = {
  readonly environment: Readonly<Record<string, string>>
  readonly stop: () => Promise<void>
}

export const messagesEach = 100

const defaultCounts = { messages: messagesEach, visitors: 10, calls: 10, activity: 0 }

/**
 * Starts a sandbox with this many conversations of 100 messages each, and by default few of
 * everything else.
 */
export async function startSandboxProcess(
  conversations: number,
  others: Partial<typeof defaultCounts & { readonly days: number; readonly open: number }> = {},
): Promise<SandboxProcess> {
  const size = Object.entries({ conversations, ...defaultCounts, ...others }).flatMap(
    ([what, count]) => [`--${what}`, count],
  )
  const args = [launcher, 'sandbox', '--json', ...size, '--rate', 'off'].map(String)
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'ignore'] })
  const ended = once(child, 'exit')
  const [line] = await once(child.stdout, 'data')
  const environment = JSON.parse(String(line)) as SandboxProcess['environment']
  return {
    environment: {
      ...environment,
      DESKMIRROR_RATE: '1000000000/60s',
      DESKMIRROR_WRITE_RATE: '1000000000/60s',
    },
    stop: async () => {
      child.kill()
      await ended
    },
  }
}
