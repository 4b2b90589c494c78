/** What passes cost a worker, measured with the real parts: the first mirror of a project, and then nothing new. */
import { setTimeout as sleep } from 'node:timers/promises'
import { openWorkplace, type Workplace } from '../../src/compose/worker/workplace.ts'
import { loadConfig, type ProjectConfig } from '../../src/config.ts'
import { type StreamName, streamNames } from '../../src/core/row.ts'
import { createLog } from '../../src/log.ts'
import { median } from '../figures.ts'
import { startService } from '../sandbox.ts'
import type { OfStream } from './costs.ts'
import type { Size } from './load.ts'
import { isChild } from './load.ts'
import { postgresUse } from './postgres-use.ts'

/** Each of one pass, or request. `cpuMs`: of this process. `tookMs`: with a service that answers at once. */
export type Cost = {
  readonly cpuMs: number
  readonly tookMs: number
  readonly requests: number
  readonly commits: number
  /** CPU of Postgres. */
  readonly warehouseMs: number
}

export type PassCosts = {
  /** Of one request of a first mirror, over all streams. */
  readonly request: Cost
  /** Of a pass that finds nothing new, with the look for what hangs on its rows. */
  readonly idle: OfStream<Cost>
  /** A pass that finds its stream held. */
  readonly busyCpuMs: number
}

export type Places = { readonly databaseUrl: string; readonly queueUrl: string }

const idlePasses = 60
const messagesEach = 20
const quiet = createLog({ level: 'silent', pretty: false, secrets: [], write: () => {} })

export async function measurePasses({ databaseUrl, queueUrl }: Places, size: Size): Promise<PassCosts> {
  const { conversations, visitors, calls } = size
  const service = await startService(conversations, { messages: messagesEach, visitors, calls, activity: 10 })
  const environment = { ...service.environment, DESKMIRROR_DATABASE_URL: databaseUrl, DESKMIRROR_QUEUE_URL: queueUrl }
  const config = loadConfig('service', '/', environment)
  const [project] = config.projects
  if (project === undefined) throw new Error('no project')
  let requests = 0
  const workplace = await openWorkplace(config, {
    log: quiet,
    onOutcome: () => {
      requests += 1
    },
    onSettled: () => {},
    onLoaded: () => {},
  })
  const meter = meterOf(databaseUrl, () => requests)
  try {
    const first = await meter(() => mirror(workplace, project))
    // What is due soon after the first mirror is read, too.
    await mirror(workplace, project)
    const idle: [StreamName, Cost][] = []
    for (const stream of streamNames)
      idle.push([stream, each(await meter(() => repeat(workplace, project, stream)), idlePasses)])
    const busyCpuMs = await busy(workplace, project)
    return { request: each(first, first.requests), idle: Object.fromEntries(idle) as OfStream<Cost>, busyCpuMs }
  } finally {
    await workplace.close()
    await service.stop()
  }
}

async function mirror(workplace: Workplace, project: ProjectConfig): Promise<void> {
  for (const stream of [...streamNames].sort((a, b) => Number(isChild(a)) - Number(isChild(b)))) {
    await pass(workplace, project, stream)
  }
}

async function pass(workplace: Workplace, project: ProjectConfig, stream: StreamName) {
  const signal = new AbortController().signal
  const end = await workplace.pass(project, { stream, mode: 'incremental', portionMs: 600_000, signal })
  if (end.kind !== 'done') throw new Error(`the pass of ${stream} ended ${JSON.stringify(end)}`)
  if (['conversations', 'visitors', 'calls'].includes(stream)) await workplace.children(project)
}

async function repeat(workplace: Workplace, project: ProjectConfig, stream: StreamName): Promise<void> {
  for (let n = 0; n < idlePasses; n++) await pass(workplace, project, stream)
}

/** One reads, and fifty more find that out. */
async function busy(workplace: Workplace, project: ProjectConfig): Promise<number> {
  const signal = new AbortController().signal
  const ask = { stream: 'calls', mode: 'incremental', portionMs: 600_000, signal } as const
  const spent: number[] = []
  for (let n = 0; n < 5; n++) {
    const cpu = process.cpuUsage()
    const all = await Promise.all(Array.from({ length: 51 }, () => workplace.pass(project, ask)))
    const busy = all.filter(({ kind }) => kind === 'busy').length
    const { user, system } = process.cpuUsage(cpu)
    if (busy > 25) spent.push((user + system) / 1000 / all.length)
  }
  return median(spent)
}

type Meter = (work: () => Promise<void>) => Promise<Cost>

function meterOf(databaseUrl: string, requests: () => number): Meter {
  const postgres = () => (databaseUrl.startsWith('postgres') ? postgresUse(databaseUrl) : { commits: 0, cpuMs: 0 })
  return async (work) => {
    const [before, asked] = [await postgres(), requests()]
    const cpu = process.cpuUsage()
    const began = performance.now()
    await work()
    const tookMs = performance.now() - began
    const { user, system } = process.cpuUsage(cpu)
    // Postgres tells of what was committed a second later.
    await sleep(1200)
    const after = await postgres()
    return {
      cpuMs: (user + system) / 1000,
      tookMs,
      requests: requests() - asked,
      commits: after.commits - before.commits,
      warehouseMs: after.cpuMs - before.cpuMs,
    }
  }
}

function each(cost: Cost, count: number): Cost {
  return Object.fromEntries(Object.entries(cost).map(([name, value]) => [name, value / count])) as Cost
}
