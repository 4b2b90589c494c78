/**
 * Runs commands with their real use cases, configuration and log in this process. Starting the
 * program takes most of a second of processor time, so tests of what a command does run it here.
 * That the program itself parses its arguments, sets its exit code and writes to its streams is for
 * the tests that use `runDeskmirror`.
 */
import { type Command, CommanderError, type OutputConfiguration } from 'commander'
import { type CommandContext, createCommandContext } from '../../src/cli/command-context.ts'
import { explainError, renderError } from '../../src/cli/explain-error.ts'
import { commandNames, createProgram } from '../../src/cli/program.ts'
import { openDisplay } from '../../src/cli/render/display.ts'
import {
  describeConfiguration,
  loadConfig,
  proxyOfEnvironment,
  wantsStackTraces,
} from '../../src/config/load.ts'
import type { ProcessResult, RunOptions } from './run-process.ts'

/** It listens to the process's streams, so there is one. */
const processContext = createCommandContext()

let lastCommand: Promise<unknown> = Promise.resolve()

/** As `runDeskmirror`. One command at a time, because a process has one working folder. */
export function runInProcess(args: readonly string[], options: RunOptions): Promise<ProcessResult> {
  const result = lastCommand.then(() => inFolder(options.cwd, () => run(args, options)))
  lastCommand = result.catch(() => {})
  return result
}

async function inFolder<Result>(folder: string, work: () => Promise<Result>): Promise<Result> {
  const before = process.cwd()
  process.chdir(folder)
  try {
    return await work()
  } finally {
    process.chdir(before)
  }
}

async function run(
  args: readonly string[],
  { cwd, env = {}, input = '' }: RunOptions,
): Promise<ProcessResult> {
  const result = { exit: 0, out: '', err: '' }
  const writeErr = (text: string) => {
    result.err += text
  }
  const stderr = { write: writeErr, isTTY: false } as unknown as Parameters<typeof openDisplay>[0]
  const context: CommandContext = {
    ...processContext,
    writeOut: (text) => {
      result.out += text
    },
    openStdout: () => ({
      isTerminal: false,
      write: async (bytes) => {
        result.out += Buffer.from(bytes).toString()
      },
    }),
    writeErr,
    setExitCode: (code) => {
      result.exit = code
    },
    openDisplay: (quiet) => openDisplay(stderr, quiet, Date.now),
    loadConfig: (needs) => loadConfig(needs, cwd, env),
    describeConfiguration: () => describeConfiguration(cwd, env),
    proxyOfEnvironment: () => proxyOfEnvironment(cwd, env),
    wantsStackTraces: () => wantsStackTraces(env),
    openInterruptSignal: () => new AbortController().signal,
    openEndingSignal: () => new AbortController().signal,
    openStdin: () => ReadableStream.from([Buffer.from(input)]),
  }
  const program = await createProgram(context, commandNames)
  redirect(program, { writeOut: context.writeOut, writeErr })
  try {
    await program.parseAsync(args, { from: 'user' })
  } catch (error) {
    // The parser has written the help, or what is wrong.
    if (error instanceof CommanderError) return { ...result, exit: error.exitCode === 0 ? 0 : 2 }
    const explanation = explainError(error)
    writeErr(`${renderError(explanation, context.wantsStackTraces()).join('\n')}\n`)
    result.exit = explanation.exitCode
  }
  return result
}

/** What the parser itself writes. It would end this process, too. */
function redirect(command: Command, output: OutputConfiguration): void {
  command.exitOverride().configureOutput(output)
  for (const inner of command.commands) redirect(inner, output)
}
