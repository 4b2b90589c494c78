/** Runs the real command in its own process. */
import { spawn } from 'node:child_process'
import { closeSync, openSync } from 'node:fs'

export const launcher = new URL('../../bin/deskmirror.js', import.meta.url).pathname

export type ProcessResult = {
  readonly exit: number | null
  readonly out: string
  readonly err: string
}

/** `input`: its standard input. `inputFile`: a file as its standard input, as a shell gives it. */
export type RunOptions = {
  readonly cwd: string
  readonly env?: Readonly<Record<string, string>>
  readonly input?: string
  readonly inputFile?: string
  /** Who runs it, if root runs the tests. */
  readonly user?: number
}

/** Keeps the tester's own environment away from the command. */
export function cleanEnvironment(
  variables: Readonly<Record<string, string>> = {},
): Record<string, string> {
  return { PATH: process.env.PATH ?? '', NO_COLOR: '1', ...variables }
}

/** Waits for the command to end by itself. */
export function runDeskmirror(
  args: readonly string[],
  options: RunOptions & { readonly node?: string },
): Promise<ProcessResult> {
  const file = options.inputFile === undefined ? null : openSync(options.inputFile, 'r')
  const child = spawn(options.node ?? process.execPath, [launcher, ...args], {
    cwd: options.cwd,
    ...(options.user === undefined ? {} : { uid: options.user, gid: options.user }),
    env: cleanEnvironment(options.env),
    stdio: [file ?? 'pipe', 'pipe', 'pipe'],
  })
  if (file !== null) closeSync(file)
  child.stdin?.on('error', () => {}).end(options.input ?? '')
  let [out, err] = ['', '']
  child.stdout?.setEncoding('utf8').on('data', (text: string) => {
    out += text
  })
  child.stderr?.setEncoding('utf8').on('data', (text: string) => {
    err += text
  })
  return new Promise((resolve, reject) => {
    child.on('error', reject).on('close', (exit) => resolve({ exit, out, err }))
  })
}
