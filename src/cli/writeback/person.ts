/** Who decides: the option `--as` of the commands by which people decide. */
import { InvalidArgumentError, Option } from 'commander'
import type { Config } from '../../config/config.ts'
import { parsePersonName } from '../../core/person-name.ts'
import type { CommandContext } from '../command-context.ts'

export type PersonOption = { readonly as?: string }

export const personOption = () =>
  new Option('--as <name>', 'who decides; without it DESKMIRROR_PERSON, else your user name').argParser((text) => {
    const name = parsePersonName(text)
    if (name === undefined) throw new InvalidArgumentError('Write a name of at most 100 characters.')
    return name
  })

export function decidingPerson(context: CommandContext, config: Config, { as }: PersonOption): string {
  return as ?? config.person ?? context.currentUser()
}
