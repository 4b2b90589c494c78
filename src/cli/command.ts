/**
 * How a command is declared, for which projects it runs, and its result: a document for machines,
 * lines for people, the exit code.
 */
import { Command, type Option } from 'commander'
import type { CommandOptions } from '../app/service.ts'
import type { Config } from '../config/config.ts'
import type { ProjectName } from '../values/project.ts'
import { type CommandHint, projectCommandHint, UserError } from '../values/user-error.ts'
import type { CommandContext } from './command-context.ts'
import {
  type ErrorExplanation,
  type ExitCode,
  explainError,
  renderError,
  worstExitCode,
} from './explain-error.ts'
import type { CommonOptions } from './options.ts'
import type { Display } from './render/display.ts'

export type CommandResult = {
  readonly document: unknown
  readonly lines: readonly string[]
  readonly exit: ExitCode
  /** Errors on the way; printed to standard error. */
  readonly errors?: readonly ErrorExplanation[]
}

type CommandSpec<Options, Argument> = {
  readonly name: string
  /** Of a subcommand, in the list of its parent. */
  readonly summary?: string
  readonly description: string
  readonly argument?: readonly [name: string, about: string] | undefined
  /** In the order of the help. */
  readonly options: readonly Option[]
  /** What follows the options: details, examples, exit codes. */
  readonly help: string
  /** By default with `--json`. */
  readonly printsJson?: (options: Options) => boolean
  readonly run: (
    context: CommandContext,
    options: Options,
    argument: Argument,
  ) => Promise<CommandResult>
}

/** Prints the result, and catches everything. `Argument`: the value of the positional one. */
export function defineCommand<Options extends object, Argument = never>({
  name,
  summary = '',
  description,
  argument,
  options,
  help,
  run,
  printsJson = (chosen) => 'json' in chosen,
}: CommandSpec<Options, Argument>): (context: CommandContext) => Command {
  return (context) => {
    const command = new Command(name)
      .summary(summary)
      .description(description)
      .addHelpText('after', help)
    if (argument !== undefined) command.argument(...argument)
    for (const option of options) command.addOption(option)
    return command.action(async (...given: readonly unknown[]) => {
      const [chosen, value] = (argument === undefined ? given : [given[1], given[0]]) as [
        Options,
        Argument,
      ]
      const result = await run(context, chosen, value).catch(toFailedResult)
      printResult(context, result, printsJson(chosen))
    })
  }
}

function printResult(
  context: CommandContext,
  { document, lines, exit, errors = [] }: CommandResult,
  asJson: boolean,
): void {
  context.setExitCode(exit)
  const printed = errors.flatMap((error) => renderError(error, context.wantsStackTraces()))
  if (printed.length > 0) context.writeErr(`${printed.join('\n')}\n`)
  if (asJson) context.writeOut(`${JSON.stringify(document, null, 2)}\n`)
  else if (lines.length > 0) context.writeOut(`${lines.join('\n')}\n`)
}

/** A command that is about one project. `what`: the message if it is unclear which is meant. */
export function defineProjectCommand<
  Options extends { readonly project?: ProjectName },
  Argument = never,
>({
  what,
  run,
  ...spec
}: Omit<CommandSpec<Options, Argument>, 'run'> & {
  readonly what: string
  readonly run: (
    context: CommandContext,
    call: ProjectCall,
    options: Options,
    argument: Argument,
  ) => Promise<CommandResult>
}) {
  return defineCommand<Options, Argument>({
    ...spec,
    run: async (context, options, argument) => {
      const call = selectCall(context.loadConfig('mirror'), options.project, what)
      return run(context, call, options, argument)
    },
  })
}

type Projects = { readonly projects: readonly { readonly name: ProjectName }[] }

/** `hint`: writes a command as it has to be typed for this project. */
type CallOf<C extends Projects> = {
  readonly config: C
  readonly project: C['projects'][number]
  readonly hint: CommandHint
}
export type ProjectCall = CallOf<Config>

export type Rendered = Pick<CommandResult, 'lines' | 'exit'>
type Render<T, Call = ProjectCall> = (report: T, call: Call) => Rendered

/** For each selected project, with requests. `signal`: Ctrl-C; `inHand`: what it waits for. */
export async function runOverService<T>(
  context: CommandContext,
  { project, quiet }: CommonOptions,
  run: (call: ProjectCall, handlers: CommandOptions, display: Display) => Promise<T>,
  render: Render<T>,
  inHand?: string,
): Promise<CommandResult> {
  const config = context.loadConfig('service')
  const calls = selectCalls(config, project)
  const display = context.openDisplay(quiet === true)
  const log = await context.openLog(config, display)
  const signal = context.openInterruptSignal(display, inHand)
  const handlers = { signal, log, notify: display.notify }
  const runOne = (call: ProjectCall) => run(call, handlers, display).finally(display.clear)
  return joinResults(await forEachProject(calls, signal, runOne), render)
}

/** The same for a command that reads only the warehouse; Ctrl-C ends the process. */
export async function runOverMirror<T>(
  context: CommandContext,
  { project }: CommonOptions,
  run: (call: ProjectCall) => Promise<T>,
  render: Render<T>,
): Promise<CommandResult> {
  const config = context.loadConfig('mirror')
  for (const warning of config.warnings) context.writeErr(`deskmirror: ${warning}\n`)
  return joinResults(await forEachProject(selectCalls(config, project), null, run), render)
}

export type ProjectResult<T, Call = ProjectCall> =
  | { readonly call: Call; readonly report: T }
  | { readonly call: Call; readonly error: ErrorExplanation }

/** Runs for each project one after the other. An error of one project does not stop the others. */
export async function forEachProject<T, Call>(
  calls: readonly Call[],
  signal: AbortSignal | null,
  run: (call: Call) => Promise<T>,
): Promise<readonly ProjectResult<T, Call>[]> {
  const results: ProjectResult<T, Call>[] = []
  for (const call of calls) {
    if (signal?.aborted && results.length > 0) break
    results.push(
      await run(call).then(
        (report) => ({ call, report }),
        (error: unknown) => ({ call, error: explainError(error) }),
      ),
    )
  }
  return results
}

/** Joins the results of the projects; `render` gives one project's lines and exit code. */
export function joinResults<T, Call extends { readonly project: { readonly name: ProjectName } }>(
  results: readonly ProjectResult<T, Call>[],
  render: Render<T, Call>,
): CommandResult {
  const joined = results.map((result) => {
    if ('report' in result)
      return { document: result.report, errors: [], ...render(result.report, result.call) }
    const { call, error } = result
    const project = call.project.name
    const named = results.length > 1 ? { ...error, what: `${project}: ${error.what}` } : error
    return {
      document: { project, error: errorDocument(error) },
      errors: [named],
      lines: [],
      exit: error.exitCode,
    }
  })
  return {
    document: { projects: joined.map(({ document }) => document) },
    lines: joined.flatMap(({ lines }) => lines),
    exit: worstExitCode(joined.map(({ exit }) => exit)),
    errors: joined.flatMap(({ errors }) => errors),
  }
}

/** The projects that `--project` selects; all of them without it. */
export function selectCalls<C extends Projects>(
  config: C,
  name: ProjectName | undefined,
): readonly CallOf<C>[] {
  const all = config.projects.map((project) => ({
    config,
    project,
    hint: projectCommandHint(config.projects, project.name),
  }))
  const matching = all.filter(({ project }) => name === undefined || project.name === name)
  if (matching.length > 0 || name === undefined) return matching
  const why = `these are known: ${namesOf(all)}`
  throw new UserError({ what: `there is no project ${name}`, why, next: 'name one of those' })
}

/** The one project of a command. `what`: the message if the choice is ambiguous. */
export function selectCall<C extends Projects>(
  config: C,
  name: ProjectName | undefined,
  what: string,
): CallOf<C> {
  const calls = selectCalls(config, name)
  const [call, ...others] = calls
  if (call !== undefined && others.length === 0) return call
  const why = `this needs one project, and there are ${namesOf(calls)}`
  throw new UserError({ what, why, next: 'name one of those with --project' })
}

function namesOf<C extends Projects>(calls: readonly CallOf<C>[]): string {
  return calls.map(({ project }) => project.name).join(', ')
}

function errorDocument({ what, why, next, exitCode }: ErrorExplanation) {
  return { what, why, next, exitCode }
}

function toFailedResult(error: unknown): CommandResult {
  const explanation = explainError(error)
  const document = { error: errorDocument(explanation) }
  return { document, lines: [], exit: explanation.exitCode, errors: [explanation] }
}
