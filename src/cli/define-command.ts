/** How a command is declared: its options, its help, and what it does. Its result is printed. */
import { Command, type Option } from 'commander'
import type { CommandContext } from './command-context.ts'
import { type CommandResult, runAndPrint } from './command-result.ts'

type CommandSpec<Options, Argument> = {
  readonly name: string
  readonly description: string
  /** A positional argument, and what it means. */
  readonly argument?: readonly [name: string, about: string]
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
export function defineCommand<Options extends object, Argument = never>(
  spec: CommandSpec<Options, Argument>,
): (context: CommandContext) => Command {
  const {
    name,
    description,
    argument,
    options,
    help,
    run,
    printsJson = (chosen) => 'json' in chosen,
  } = spec
  return (context) => {
    const command = new Command(name).description(description).addHelpText('after', help)
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
