/**
 * How much of the allowance `verify` and a reconcile use where the service takes 0.3 s to respond:
 * 600 requests a minute, in the second and the third minute. In the second one the slots of the
 * first burst come back at once and are used at the even rate. BASELINE=FOLDER measures another
 * checkout beside this one.
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
/**
 * A reconcile reads the messages of a seventh of the conversations again. Each has something to do
 * for four minutes.
 */
const commands = [
  { name: 'verify', args: ['verify'], conversations: 3000 },
  { name: 'reconcile', args: ['sync', '--mode', 'reconcile'], conversations: 16_000 },
] as const
const programs = [
  { suffix: '', program: launcher },
  ...(baseline === undefined
    ? []
    : [{ suffix: ' (baseline)', program: join(baseline, 'bin/deskmirror.js') }]),
]
const cases = commands.flatMap((command) => programs.map((program) => ({ ...command, ...program })))

const measured = await Promise.all(cases.map(measure))
for (const { name, suffix, shares } of measured) {
  printFigure(`${name}${suffix}: of the allowance, second minute`, 100 * (shares[0] ?? 0), '%')
  printFigure(
    '  third minute',
    100 * (shares[1] ?? 0),
    '%',
    'goal: 97, as a margin of 2 % stays unused',
  )
}

type Case = (typeof cases)[number]

async function measure({ args, program, conversations, ...titles }: Case) {
  const service = await startSandboxProcess(conversations, { messages: 2 })
  try {
    return await withTempFolder(async (folder) => {
      const databaseUrl = `sqlite:${folder}/mirror.db`
      await runSync(service, databaseUrl, program)
      // What the sync has just used is no longer in the window.
      await sleep(windowMs)
      await ask(service, 'switches', { 'latency.after': 300, 'latency.spread': 0.5 })
      const env = { ...process.env, ...service.environment, DESKMIRROR_DATABASE_URL: databaseUrl }
      const limited = { ...env, DESKMIRROR_RATE: `${limit}/${windowMs / 1000}s` }
      const child = spawn(process.execPath, [program, ...args, '--quiet'], {
        env: limited,
        stdio: 'ignore',
      })
      const exit = once(child, 'exit')
      try {
        await firstRequest(service)
        const counts: number[] = []
        for (let minute = 1; minute <= 3; minute++) {
          await sleep(windowMs)
          counts.push(await countRequests(service))
        }
        const [first = 0, second = 0, third = 0] = counts
        return { ...titles, shares: [(second - first) / limit, (third - second) / limit] }
      } finally {
        child.kill()
        await exit
      }
    })
  } finally {
    await service.stop()
  }
}

/** Starting the command takes longer on a busy machine. */
async function firstRequest(service: SandboxProcess): Promise<void> {
  const before = await countRequests(service)
  while ((await countRequests(service)) === before) await sleep(100)
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
