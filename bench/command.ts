/** Runs one command of deskmirror as users run it, in its own process, and measures it. */
import { spawn } from 'node:child_process'
import { readFileSync } from 'node:fs'
import type { SyncReport } from '../src/core/command-reports.ts'
import { launcher, type SandboxProcess } from './sandbox.ts'

/**
 * `peakMb`: the largest resident set of the process, in 10^6 bytes. `tookMs`: from its start to its end. `cpuMs`: its processor
 * time, which other work on the machine affects less.
 */
export type CommandRun = Readonly<{ stdout: string } & Record<'peakMb' | 'tookMs' | 'cpuMs', number>>

/** Throws if the command does not exit with 0. `program`: another checkout's, to compare with. */
export async function runCommand(
  args: readonly string[],
  { environment }: SandboxProcess,
  databaseUrl: string,
  program = launcher,
): Promise<CommandRun> {
  const began = performance.now()
  const env = { ...process.env, ...environment, DESKMIRROR_DATABASE_URL: databaseUrl }
  const child = spawn(process.execPath, [program, ...args], { env, stdio: ['ignore', 'pipe', 'inherit'] })
  let [peakMb, cpuMs] = [0, 0]
  const sample = () => {
    peakMb = Math.max(peakMb, readPeakMb(child.pid ?? 0))
    cpuMs = Math.max(cpuMs, readCpuMs(child.pid ?? 0))
  }
  const timer = setInterval(sample, 50)
  const ended = new Promise<number | null>((resolve) => child.on('exit', resolve))
  let stdout = ''
  for await (const chunk of child.stdout) {
    stdout += chunk
    sample()
  }
  const code = await ended
  clearInterval(timer)
  if (code !== 0) throw new Error(`deskmirror ${args.join(' ')} ended with ${code}: ${stdout}`)
  return { stdout, peakMb, cpuMs, tookMs: performance.now() - began }
}

/** The kernel's high-water mark, so no peak between two samples is missed. 0 once the process has ended. */
function readPeakMb(pid: number): number {
  try {
    const status = readFileSync(`/proc/${pid}/status`, 'utf8')
    return (Number(/^VmHWM:\s+(\d+) kB/m.exec(status)?.[1] ?? 0) * 1024) / 1e6
  } catch {
    return 0
  }
}

/** Of all its threads. 0 once the process has ended. A tick of Linux is 10 ms. */
function readCpuMs(pid: number): number {
  try {
    const [, after = ''] = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')
    const [user = 0, system = 0] = after.split(' ').slice(11, 13).map(Number)
    return (user + system) * 10
  } catch {
    return 0
  }
}

export type SyncRun = CommandRun & { readonly report: SyncReport; readonly messages: number }

/** Runs one sync, and counts the message rows that it stored. */
export async function runSync(service: SandboxProcess, databaseUrl: string, program = launcher): Promise<SyncRun> {
  const ran = await runCommand(['sync', '--quiet', '--json'], service, databaseUrl, program)
  const [report] = (JSON.parse(ran.stdout) as { readonly projects: readonly SyncReport[] }).projects
  if (report === undefined) throw new Error('no project was synced')
  const messages = report.streams.find(({ stream }) => stream === 'messages')?.rows ?? 0
  return { ...ran, report, messages }
}
