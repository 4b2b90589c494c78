/**
 * How much of the allowance `verify` uses where the service takes 0.3 s to respond: 600 requests a minute, over a minute
 * after the first one. BASELINE=FOLDER measures another checkout beside this one.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { runSync } from './command.ts'
import { printFigure } from './figures.ts'
import { launcher, type SandboxProcess, startSandboxProcess } from './sandbox.ts'
import { withTempFolder } from './temp-folder.ts'

const [limit, windowMs] = [600, 60_000]
const { BASELINE: baseline } = process.env
const programs = [
  { name: 'verify', program: launcher },
  ...(baseline === undefined ? [] : [{ name: 'verify (baseline)', program: join(baseline, 'bin/deskmirror.js') }]),
]

const measured = await Promise.all(programs.map(({ program }) => measure(program)))
for (const [n, used] of measured.entries()) printFigure(`${programs[n]?.name}: of the allowance`, 100 * used, '%')

async function measure(program: string): Promise<number> {
  const service = await startSandboxProcess(3000, { messages: 2 })
  try {
    return await withTempFolder(async (folder) => {
      const databaseUrl = `sqlite:${folder}/mirror.db`
      await runSync(service, databaseUrl, program)
      // What the sync has just used is no longer in the window.
      await sleep(windowMs)
      await ask(service, 'switches', { 'latency.after': 300, 'latency.spread': 0.5 })
      const env = { ...process.env, ...service.environment, DESKMIRROR_DATABASE_URL: databaseUrl }
      const limited = { ...env, DESKMIRROR_RATE: `${limit}/${windowMs / 1000}s` }
      const child = spawn(process.execPath, [program, 'verify', '--quiet'], { env: limited, stdio: 'ignore' })
      const exit = once(child, 'exit')
      try {
        await sleep(windowMs)
        const before = await countRequests(service)
        await sleep(windowMs)
        return ((await countRequests(service)) - before) / limit
      } finally {
        child.kill()
        await exit
      }
    })
  } finally {
    await service.stop()
  }
}

async function countRequests(service: SandboxProcess): Promise<number> {
  const { total } = (await ask(service, 'counts')) as { readonly total: number }
  return total
}

async function ask({ environment }: SandboxProcess, what: string, body?: object): Promise<unknown> {
  const url = new URL(`/_sandbox/${what}`, environment.DESKMIRROR_BASE_URL)
  const init = body === undefined ? {} : { method: 'POST', body: JSON.stringify(body) }
  const response = await fetch(url, { ...init, headers: { 'content-type': 'application/json' } })
  if (!response.ok) throw new Error(`${url.pathname} answered ${response.status}`)
  return response.json()
}
