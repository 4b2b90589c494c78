/** `deskmirror mcp`: assistants ask and propose, on standard input and output. */
import { defaultConfig } from '../config/config.ts'
import type { ProjectName } from '../values/project.ts'
import { defineCommand, selectCall } from './command.ts'
import { explainError, renderError } from './explain-error.ts'
import {
  decidingPerson,
  loadConfigured,
  namedWarehouse,
  oneProjectOption,
  type PersonOption,
  personOption,
  warehouseArgument,
} from './options.ts'

type Options = PersonOption & { readonly project?: ProjectName }

const help = `
An assistant starts this command and talks to it (docs/assistants.md). It can look up what the warehouse holds, and
propose write-backs, which a person approves; it cannot approve, send or change anything else. No port is opened. With a file,
nothing is written, so nothing can be proposed.

Examples:
  $ deskmirror mcp --project shop --as ann
  $ deskmirror mcp demo.db                  any warehouse, without configuration
  $ claude mcp add deskmirror -- deskmirror mcp

Exit code: 0 the assistant ended it · 1 failed, trying again may help · 2 a person must change something`

export const command = defineCommand<Options, string | undefined>({
  name: 'mcp',
  description: 'Serves the Model Context Protocol to an assistant, on standard input and output.',
  argument: warehouseArgument,
  options: [oneProjectOption(), personOption('who answers for what is proposed')],
  help,
  run: async (context, options, named) => {
    const what = 'the assistant cannot be served'
    const config = named === undefined ? loadConfigured(context, 'mcp') : null
    const display = context.openDisplay(false)
    const log = await context.openLog(config ?? defaultConfig({ projects: [] }), display)
    const { stopped, exit } = context.listenForSignals()
    const { serveMcp } = await context.load(() => import('../mcp/mcp.ts'))
    const { versions } = await context.readVersion()
    await serveMcp(
      {
        ...(config ?? namedWarehouse(named ?? '')),
        readConfig: () => context.loadConfig('mirror'),
        configured: config && {
          config,
          project: selectCall(config, options.project, what).project,
        },
        chooseProject: (projects) => selectCall({ projects }, options.project, what).project,
        person: decidingPerson(context, config, options),
        version: versions.program,
        log,
        now: context.now,
        explain: (error) => renderError(explainError(error), false).join('\n'),
      },
      stopped,
    )
    return exit(0)
  },
})
