/**
 * What a process and everything that it started use, as the kernel counts it (/proc, so Linux
 * only).
 */
import { readdirSync, readFileSync } from 'node:fs'
import { processCpuMs } from '../fleet/postgres-use.ts'

/**
 * In 10^6 bytes. `rssMb`: resident, where what processes share counts in each of them. `pssMb`:
 * what several share is divided among them. `peakMb`: the sum of the largest resident sets.
 */
export type ProcessUse = {
  readonly processes: number
  readonly rssMb: number
  readonly pssMb: number
  readonly peakMb: number
  readonly cpuMs: number
}

export function measureTree(root: number): ProcessUse {
  const all = treeOf(root)
  const sum = (value: (pid: number) => number) => all.reduce((total, pid) => total + value(pid), 0)
  return {
    processes: all.length,
    rssMb: sum((pid) => readMb(pid, 'smaps_rollup', 'Rss')),
    pssMb: sum((pid) => readMb(pid, 'smaps_rollup', 'Pss')),
    peakMb: sum((pid) => readMb(pid, 'status', 'VmHWM')),
    cpuMs: sum(processCpuMs),
  }
}

/** The process, and its children at any depth. */
function treeOf(root: number): readonly number[] {
  const parents = new Map(listProcesses().map((pid) => [pid, parentOf(pid)]))
  const descends = (pid: number): boolean =>
    pid === root || (pid > 1 && descends(parents.get(pid) ?? 0))
  return [...parents.keys()].filter(descends)
}

function listProcesses(): readonly number[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
}

function parentOf(pid: number): number {
  return Number(/^PPid:\s+(\d+)/m.exec(readProc(pid, 'status'))?.[1] ?? 0)
}

function readMb(pid: number, file: string, field: string): number {
  const kibibytes = new RegExp(`^${field}:\\s+(\\d+) kB`, 'm').exec(readProc(pid, file))?.[1] ?? 0
  return (Number(kibibytes) * 1024) / 1e6
}

/** Empty once the process has ended. */
function readProc(pid: number, file: string): string {
  try {
    return readFileSync(`/proc/${pid}/${file}`, 'utf8')
  } catch {
    return ''
  }
}
