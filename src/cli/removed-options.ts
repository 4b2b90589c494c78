/** Options that are gone. A command that is given one refuses it, and says what to do instead. */
import { type Command, Option } from 'commander'
import { UserError } from '../values/user-error.ts'

/** What asked the service before an approval. The help does not list it. */
export function refuseChecks(command: Command): Command {
  for (const flags of ['--check', '--limit <n>']) {
    const option = new Option(flags).hideHelp()
    command.addOption(option).on(`option:${option.name()}`, () => {
      throw new UserError({
        what: `the option ${option.long} is gone`,
        why: 'a review shows what the mirror has, and every send looks at the live record first',
        next: 'leave it out; `deskmirror sync` brings the mirror up to date',
      })
    })
  }
  return command
}
