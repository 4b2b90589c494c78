/** `deskmirror erase`: deletes what is stored of a visitor. */
import { Option } from 'commander'
import { type ConfiguredLake, lakesOf } from '../config/lakes.ts'
import { formatCount, toPrintable } from '../values/format.ts'
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
import { isClean, remainsLines } from './render/remains.ts'
import { alignColumns } from './render/table.ts'

type Options = CommonOptions & PersonOption & { readonly visitor: string; readonly yes?: true }

const help = `
Deletes the visitor, their activity, conversations, messages, changes and calls, former versions, facts and searched words
of these, and the words, evidence and log of their write-backs; what is queued to them is cancelled. The ids of visitor,
conversations and calls stay, so that no sync stores them again. It says nothing to the service: erase the visitor there, too.
Whose a call is, its field tells that analytics.calls.visitor names, or a likely one.
Then it looks for what it erased, in all tables, definitions, statistics and files of the warehouse, and says what is left
where and which command removes it. It looks for ids, addresses, names and texts; not for those of fewer than 12 characters
(names 8, addresses 7), nor for single words of fewer than 20, nor for texts that rows of other people have, too.

If it is killed, the same command goes on, and \`status\` names it until then.

Examples:
  $ deskmirror erase --visitor 0d9c…        shows what would be deleted
  $ deskmirror erase --visitor 0d9c… --yes

Exit code: 0 done · 1 failed, trying again may help · 2 a person must correct the command · 3 done, and something is left`

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
    const { config, project, hint } = selectCall(
      context.loadConfig('mirror'),
      options.project,
      'nothing was erased',
    )
    const { eraseVisitor } = await context.load(() => import('../app/erase.ts'))
    const by = decidingPerson(context, config, options)
    const report = await eraseVisitor(config, project, { visitor, by, dryRun: !yes })
    const rows = Object.entries(report.rows).map(([table, count]) => [table, formatCount(count)])
    const { search } = report
    const erases = report.dryRun ? 'this would be erased:' : 'erased:'
    const does = rows.length > 0 ? 'erases it' : 'cleans files and statistics once more'
    return {
      document: report,
      lines: [
        rows.length > 0 ? erases : 'erased before, and nothing is stored of them',
        ...alignColumns(rows, '  '),
        ...(search === null
          ? [`next: ${hint(`erase --visitor ${visitor} --yes`)} ${does}`]
          : [...remainsLines(search), ...lakeLines(lakesOf(config, project))]),
      ],
      exit: search === null || isClean(search) ? 0 : 3,
    }
  },
})

/** A lake is not of the warehouse, so that nothing is searched there. */
function lakeLines(lakes: readonly ConfiguredLake[]): readonly string[] {
  return lakes.map(({ folder, project }) => {
    const command = `export --lake ${folder}${project === null ? '' : ` --project ${project.name}`}`
    return toPrintable(
      `the lake ${folder} keeps it until it is written next: deskmirror ${command}`,
    )
  })
}
