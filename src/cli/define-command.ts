/** How a command is declared: its options, its help, and what it does. Its result is printed. */
import { Command, type Option } from 'commander'
import type { ProjectName } from '../values/project.ts'
import type { CommandContext } from './command-context.ts'
import { type CommandResult, type ProjectCall, runAndPrint, selectCall } from './command-result.ts'

type CommandSpec<Options, Argument> = {
  readonly name: string
  /** Of a subcommand, in the list of its parent. */
  readonly summary?: string
  readonly description: string
  /** A positional argument, and what it means. */
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

/** `Argument`: the value of the positional one. */
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
    return command.action((...given: readonly unknown[]) => {
      const [chosen, value] = (argument === undefined ? given : [given[1], given[0]]) as [
        Options,
        Argument,
      ]
      return runAndPrint(context, { json: printsJson(chosen) }, () => run(context, chosen, value))
    })
  }
}

type ProjectCommandSpec<Options, Argument> = Omit<CommandSpec<Options, Argument>, 'run'> & {
  /** The message if it is unclear which project is meant. */
  readonly what: string
  readonly run: (
    context: CommandContext,
    call: ProjectCall,
    options: Options,
    argument: Argument,
  ) => Promise<CommandResult>
}

/** A command that is about one project. */
export function defineProjectCommand<
  Options extends { readonly project?: ProjectName },
  Argument = never,
>({ what, run, ...spec }: ProjectCommandSpec<Options, Argument>) {
  return defineCommand<Options, Argument>({
    ...spec,
    run: async (context, options, argument) => {
      const call = selectCall(context.loadConfig('mirror'), options.project, what)
      return run(context, call, options, argument)
    },
  })
}
