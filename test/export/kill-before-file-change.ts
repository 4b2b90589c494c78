/**
 * Preloaded into a process: kills it before the change of a file whose number is
 * `KILL_BEFORE_FILE_CHANGE`.
 */
import fs from 'node:fs'
import promises from 'node:fs/promises'
import { syncBuiltinESMExports } from 'node:module'

const changes = ['renameSync', 'linkSync', 'rmSync', 'utimesSync'] as const
const asyncChanges = ['rename', 'rm'] as const
let left = Number(process.env.KILL_BEFORE_FILE_CHANGE ?? Number.POSITIVE_INFINITY)

function count(path: unknown): void {
  if (!String(path).startsWith(String(process.env.LAKE))) return
  left -= 1
  if (left === 0) process.kill(process.pid, 'SIGKILL')
}

type Change = (...args: readonly unknown[]) => unknown

function watch(owner: object, names: readonly string[]): void {
  const functions = owner as Record<string, Change>
  for (const name of names) {
    const original = functions[name]!
    functions[name] = (...args) => {
      count(args[0])
      return original(...args)
    }
  }
}

watch(fs, changes)
watch(promises, asyncChanges)
syncBuiltinESMExports()
