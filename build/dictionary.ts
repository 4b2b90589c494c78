/**
 * Writes docs/reference/ from the code: commands and their JSON documents, settings, tables,
 * objects for analysts, metrics, events. `--check` only checks that all are current.
 */
import { globSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import type { Command } from 'commander'
import { pino } from 'pino'
import { parse } from 'yaml'
import { columnTypes, plainType } from '../schema/column-types.ts'
import { commandDocuments, readTypes } from '../schema/command-documents.ts'
import { logEvents } from '../schema/log-events.ts'
import { type ColumnSpec, type TableSpec, tables } from '../schema/tables.ts'
import { type AnalyticsObject, analyticsObjects } from '../src/analytics/views/all-views.ts'
import { readingRules, typeWordOf, useOf } from '../src/analytics/views/column-words.ts'
import type { CommandContext } from '../src/cli/command-context.ts'
import { commandNames, createProgram } from '../src/cli/program.ts'
import { globalSettings } from '../src/config/program-settings.ts'
import { allProjectSettings, settingMaps } from '../src/config/project-settings.ts'
import { defaultsOf, type Setting, variableName } from '../src/config/setting.ts'
import { createMetrics } from '../src/http/metrics.ts'

const root = new URL('..', import.meta.url)
const folder = new URL('docs/reference/', root)

const pages: Readonly<Record<string, () => string | Promise<string>>> = {
  'commands.md': renderCommands,
  'settings.md': renderSettings,
  'warehouse.md': renderTables,
  'analytics-objects.md': renderAnalyticsObjects,
  'metrics.md': renderMetrics,
  'events.md': renderEvents,
}

function cells(values: readonly string[]): string {
  return `| ${values.map((value) => value.replaceAll('|', '\\|')).join(' | ')} |`
}

function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  return [cells(head), `|${'---|'.repeat(head.length)}`, ...rows.map(cells), ''].join('\n')
}

function fenced(language: string, text: string): string {
  return `\`\`\`${language}\n${text.trimEnd()}\n\`\`\`\n`
}

async function renderCommands(): Promise<string> {
  const program = await createProgram({} as CommandContext, commandNames)
  const sections = [
    program,
    ...program.commands.flatMap((command) => [command, ...descendants(command)]),
  ]
    .filter((command) => command.name() !== 'help')
    .map((command) => {
      const name = pathOf(command)
      const document = commandDocuments[name]
      const help = fenced('text', helpOf(command))
      return `## ${name}\n\n${help}${document === undefined ? '' : `\nWith \`--json\`: \`${document}\`\n`}`
    })
  const used = Object.keys(commandDocuments).filter((name) =>
    sections.every((text) => !text.startsWith(`## ${name}\n`)),
  )
  if (used.length > 0) throw new Error(`there is no command ${used.join(', ')}`)
  return `# Commands

Standard output is the result, standard error the log and the progress. With \`--json\` the result is exactly one JSON document,
also after a failure; its types are [below](#json-documents), and are only ever added to. Times are RFC 3339 text, durations
milliseconds. Over several projects the exit code is the most serious one: 2, then 1, then 3, then 0.

${sections.join('\n')}
## JSON documents

A command that did nothing prints \`{ error: CommandError }\`; a project that failed is
\`{ project: string, error: CommandError }\` in the list.

${fenced('ts', `type CommandError = { what: string; why: string; next: string; exitCode: 0 | 1 | 2 | 3 }\n\n${readTypes(root).join('\n\n')}`)}`
}

function descendants(command: Command): readonly Command[] {
  return command.commands.flatMap((inner) => [inner, ...descendants(inner)])
}

function pathOf(command: Command): string {
  return command.parent?.parent == null
    ? command.name()
    : `${pathOf(command.parent)} ${command.name()}`
}

function helpOf(command: Command): string {
  let text = ''
  const writeOut = (part: string) => {
    text += part
  }
  command.configureOutput({ getOutHelpWidth: () => 110, writeOut }).outputHelp()
  return text
}

function renderSettings(): string {
  const project = allProjectSettings.filter(({ name }) => !settingMaps.includes(name))
  const rowsOf = (settings: readonly Setting[]) =>
    settings.map((setting) => [
      `\`${setting.name.replace(/^schedules\./, 'schedules: ').replace(/^analytics\./, 'analytics: ')}\``,
      setting.variable === null ? '' : `\`${variableName(setting.name)}\``,
      defaultOf(setting),
      setting.about,
    ])
  const head = ['setting', 'variable', 'default', '']
  return `# Settings

Variables, also from a file \`.env\` in the working folder, describe one project; \`deskmirror.yaml\` (or the file that
\`DESKMIRROR_CONFIG\` names) describes several. [The guide](../guide.md#configure) has an example and says what wins.

- durations: \`250ms\` \`120s\` \`5m\` \`2h\` \`1d\` · rates: \`600/60s\`, \`600/m\` · switches: \`on\` \`off\`
- schedules: an interval like \`5m\`; a cron pattern in the time zone of the project, like \`0 3 * * *\` (a sixth field in front
  means seconds); \`nightly\`: at a minute of the night derived from the id of the project; \`off\`
- a secret in \`deskmirror.yaml\`, or an address with a password, is a reference: \`{ env: NAME }\` or \`{ file: PATH }\`

## Of the program

${table(head, rowsOf(Object.values(globalSettings)))}
## Of a project

Above \`projects\` in \`deskmirror.yaml\` they hold for every project that does not say otherwise.

${table(head, rowsOf(project))}`
}

function defaultOf(setting: Setting): string {
  const isOptional = setting.field(() => ({ why: '' })).safeParse(undefined).success
  if (!isOptional) return 'required'
  const { value } = defaultsOf({ value: setting }, {})
  const text = toText(value, setting.name)
  return text === '' ? '' : `\`${text}\``
}

/** A default as people write it. */
function toText(value: unknown, name: string): string {
  if (typeof value === 'boolean') return value ? 'on' : 'off'
  if (name === 'approve_over') return 'off'
  if (typeof value === 'number') return durationOf(value, name)
  if (Array.isArray(value)) return value.join(', ')
  if (typeof value !== 'object' || value === null) return String(value ?? '')
  const given: Record<string, unknown> = { ...value }
  if ('requests' in given) return `${given['requests']}/${durationText(Number(given['windowMs']))}`
  if ('kind' in given)
    return given['kind'] === 'every' ? durationText(Number(given['ms'])) : String(given['kind'])
  if ('port' in given) return `${given['host']}:${given['port']}`
  const parts = Object.entries(given).filter(([, part]) => typeof part === 'number')
  return parts.map(([key, part]) => `${key}=${durationText(Number(part))}`).join(',')
}

function durationOf(value: number, name: string): string {
  if (/^(look_back|verify_after|approve_grace)$/.test(name)) return durationText(value)
  return /^analytics\.(visit_gap|availability_holds)$/.test(name)
    ? durationText(value * 1000)
    : String(value)
}

function durationText(ms: number): string {
  const units = [
    ['d', 86_400_000],
    ['m', 60_000],
    ['s', 1000],
  ] as const
  const [unit, size] = units.find(([, size]) => ms % size === 0 && ms > size) ?? ['s', 1000]
  return `${ms / size}${unit}`
}

function renderTables(): string {
  const own = Object.entries<TableSpec>(tables).filter(([name]) =>
    analyticsObjects.every((made) => made.name !== name),
  )
  return `# Tables of the warehouse

The same names in SQLite and Postgres. [How to read them](../analytics.md#the-tables-of-the-mirror). Discovered columns are
not listed; \`text\` that is part of a key is compared by bytes. [Write-backs](../write-backs.md) explains \`writebacks\`.

${own.map(renderTable).join('\n')}`
}

function renderTable([name, { note, key, columns }]: [string, TableSpec]): string {
  const rows = Object.entries<ColumnSpec>(columns).map(([column, [type, about]]) => {
    const bare = plainType[type]
    return [
      `\`${column}\``,
      columnTypes[bare].sqlite,
      columnTypes[bare].postgres.replace(/ collate .*/, ''),
      about,
    ]
  })
  return objectTable({ name, note, key }, '| column | SQLite | Postgres | |', rows)
}

function objectTable(
  { name, note, key }: Pick<AnalyticsObject, 'name' | 'note' | 'key'>,
  head: string,
  rows: readonly (readonly string[])[],
): string {
  const keyLine = `Key: ${key.map((column) => `\`${column}\``).join(', ')}`
  return [
    `### ${name}`,
    '',
    note,
    '',
    keyLine,
    '',
    head,
    '|---|---|---|---|',
    ...rows.map(cells),
    '',
  ].join('\n')
}

function renderAnalyticsObjects(): string {
  return `# Objects for analysts

Tables and views with the same columns in SQLite and Postgres. [Analytics](../analytics.md) answers questions with them.

${readingRules.map((rule) => `- ${rule}`).join('\n')}

Postgres has all notes as comments; \`_metabase_metadata\` has them in both databases.

${analyticsObjects.map(renderObject).join('\n')}`
}

function renderObject({ name, note, caveat, key, columns }: AnalyticsObject): string {
  const rows = Object.entries(columns).map(([column, described]) => [
    `\`${column}\``,
    typeWordOf(described.type, described.isNullable),
    useOf(name, column, described),
    described.note,
  ])
  const beware = caveat === null ? '' : `\n\n**Beware:** ${caveat}`
  return objectTable({ name, note: `${note}${beware}`, key }, '| column | type | use | |', rows)
}

async function renderMetrics(): Promise<string> {
  const { registry } = createMetrics({ readHealth: async () => [], log: pino({ level: 'silent' }) })
  const metrics = (await registry.getMetricsAsJSON()).map(({ name, type, help }) => {
    const { labelNames } = registry.getSingleMetric(name) as unknown as {
      labelNames: readonly string[]
    }
    return [`\`${name}\``, String(type), labelNames.map((label) => `\`${label}\``).join(' '), help]
  })
  const {
    groups,
  }: {
    groups: { rules: { alert: string; annotations: { summary: string; description: string } }[] }[]
  } = parse(readFileSync(new URL('deploy/alerts.yml', root), 'utf8'))
  const alerts = groups.flatMap(({ rules }) => rules)
  return `# Metrics and alerts

\`/metrics\` of a worker. Counters are of the process: take their \`sum\`. Gauges are read from the one warehouse, at most every
ten seconds: take their \`max\`. A number that could not be read is absent, never old; the series of a project or stream that
is no longer configured ends. \`process_*\` and \`nodejs_*\` measure the process.

${table(['metric', 'type', 'labels', ''], metrics)}
## Alerts

The rules of \`deploy/alerts.yml\`. A stream is late after one and a half of its intervals, by the schedules of its project,
and not before an hour; rollups after two.

${table(
  ['alert', 'what happened', 'what to do'],
  alerts.map(({ alert, annotations }) => [
    `\`${alert}\``,
    withoutTemplates(annotations.summary),
    annotations.description,
  ]),
)}`
}

/** `{{ $labels.stream }} of {{ $labels.project }}` → `… of …`. */
function withoutTemplates(summary: string): string {
  return summary
    .replaceAll(/\{\{ (?:with|end)[^{}]*\}\}/g, '')
    .replaceAll(/\{\{[^{}]*\}\}/g, '…')
    .replaceAll(/(?:…\s*)+/g, '… ')
}

function renderEvents(): string {
  const rows = Object.entries(logEvents).map(([event, meaning]) => [`\`${event}\``, meaning])
  return `# Log events

One event a line on standard error: JSON, or short text on a terminal. No line holds a key or the text of a message.

${table(['event', ''], rows)}`
}

mkdirSync(folder, { recursive: true })
for (const [name, render] of Object.entries(pages)) {
  const target = new URL(name, folder)
  const fresh = `<!-- Made by \`node build/dictionary.ts\`. -->\n${await render()}`
  if (!process.argv.includes('--check')) {
    writeFileSync(target, fresh)
  } else if (
    globSync(name, { cwd: folder.pathname }).length === 0 ||
    readFileSync(target, 'utf8') !== fresh
  ) {
    process.stderr.write(`docs/reference/${name} is out of date: run node build/dictionary.ts\n`)
    process.exitCode = 1
  }
}
