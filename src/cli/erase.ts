/** `deskmirror erase`: deletes what is stored of a visitor. */
import { Option } from 'commander'
import { formatCount } from '../values/format.ts'
import { selectCall } from './command-result.ts'
import { defineCommand } from './define-command.ts'
import {
  type CommonOptions,
  decidingPerson,
  jsonOption,
  oneProjectOption,
  type PersonOption,
  personOption,
} from './options.ts'
import { alignColumns } from './render/table.ts'

type Options = CommonOptions & PersonOption & { readonly visitor: string; readonly yes?: true }

const help = `
Deletes the visitor, their activity, conversations, messages, changes and calls, the facts and searched words of these, and
the words, evidence and log of their write-backs; what is queued to them is cancelled. The ids of visitor, conversations and
calls stay, so that no sync stores them again. It says nothing to the service: erase the visitor there, too.
Exported files, backups, and statements in the titles and notes of batches are not reached.

Examples:
  $ deskmirror erase --visitor 0d9c…        shows what would be deleted
  $ deskmirror erase --visitor 0d9c… --yes

Exit code: 0 done · 1 failed, trying again may help · 2 a person must correct the command`

export const command = defineCommand<Options>({
  name: 'erase',
  description: 'Shows what is stored of a visitor, and with --yes deletes it.',
  options: [
    new Option('--visitor <id>', 'the id of the visitor').makeOptionMandatory(),
    new Option('--yes', 'delete it; without this, nothing is changed'),
    personOption(),
    oneProjectOption(),
    jsonOption(),
  ],
  help,
  run: async (context, options) => {
    const { visitor, yes = false } = options
    const { config, project, hint } = selectCall(context.loadConfig('mirror'), options.project, 'nothing was erased')
    const { eraseVisitor } = await context.load(() => import('../app/erase.ts'))
    const by = decidingPerson(context, config, options)
    const report = await eraseVisitor(config, project, { visitor, by, dryRun: !yes })
    const rows = Object.entries(report.rows).map(([table, count]) => [table, formatCount(count)])
    return {
      document: report,
      lines: [
        report.dryRun ? 'this would be erased:' : 'erased:',
        ...alignColumns(rows, '  '),
        report.dryRun
          ? `next: ${hint(`erase --visitor ${visitor} --yes`)} erases it`
          : 'exported files and backups still have it, and the database until it is vacuumed (docs/guide.md)',
      ],
      exit: 0,
    }
  },
})
