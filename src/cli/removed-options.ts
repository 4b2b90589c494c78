/** Options that are gone. A command that is given one refuses it, and says what to do instead. */
import { type Command, Option } from 'commander'
import { UserError } from '../values/user-error.ts'

type Instead = { readonly why: string; readonly next: string }

/** `flags`: as they were declared, such as `--limit <n>`. The help does not list them. */
export function refuseRemoved(
  command: Command,
  flags: readonly string[],
  { why, next }: Instead,
): void {
  for (const flag of flags) {
    const option = new Option(flag).hideHelp()
    command.addOption(option).on(`option:${option.name()}`, () => {
      throw new UserError({ what: `the option ${option.long} is gone`, why, next, exitCode: 2 })
    })
  }
}

/**
 * What `writeback import` and `writeback batches show` had to ask the service before the approval.
 */
export const checkOptions = {
  flags: ['--check', '--limit <n>'],
  instead: {
    why: 'a review shows what the mirror has, and every send looks at the live record first',
    next: 'leave it out; `deskmirror sync` brings the mirror up to date',
  },
} as const
