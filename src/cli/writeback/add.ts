/** `deskmirror writeback add`: queues one write-back; each operation is a subcommand. */
import { isUtf8 } from 'node:buffer'
import { Readable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import { Command, Option } from 'commander'
import type { AddWritebackReport } from '../../app/outbox.ts'
import type { ProjectConfig } from '../../config/config.ts'
import { replyNameOf } from '../../config/reply-settings.ts'
import { parseFlag } from '../../imports/csv-cells.ts'
import { templateColumn } from '../../imports/csv-header-words.ts'
import { commonFields } from '../../outbox/core/common-fields.ts'
import { operationsInHelp, operationTypes } from '../../outbox/core/operations.ts'
import {
  expiryMistakes,
  mistakeText,
  parseRequest,
  type RequestMistake,
} from '../../outbox/core/writeback-request.ts'
import type { Operation, WritebackRequest } from '../../outbox/outbox.ts'
import { capitalize } from '../../values/format.ts'
import { showInvisible } from '../../values/invisible.ts'
import type { EpochMs, Ms } from '../../values/time.ts'
import { type CommandHint, UserError } from '../../values/user-error.ts'
import { type CommandResult, defineProjectCommand, type ProjectCall } from '../command.ts'
import type { CommandContext } from '../command-context.ts'
import {
  type CommonOptions,
  decidingPerson,
  expiresOption,
  jsonOption,
  oneProjectOption,
  type PersonOption,
  parsedBy,
  personOption,
  quietOption,
  toExpiryTime,
} from '../options.ts'
import { renderEstimate } from './render-import.ts'

/** The others are of the target and of the request's fields. */
type Options = CommonOptions &
  PersonOption & { readonly expires?: Ms; readonly [option: string]: unknown }

const helpText = (some: readonly Operation[]) => `
Examples:
${some.flatMap((name) => operationTypes[name].examples.map((example) => `  $ deskmirror writeback add ${name} ${example}`)).join('\n')}

\`deskmirror push\` or a running worker sends it.
Standard output is the id of the queued write-back, on a line of its own.
Exit code: 0 queued, or its --ref was queued before · 1 failed, trying again may help · 2 a person must change something`

export function addCommand(context: CommandContext): Command {
  const command = new Command('add')
    .summary('queue one write-back')
    .description(
      'Queues one write-back. `deskmirror writeback add <operation> --help` shows its options.',
    )
    .addHelpText('after', helpText(operationsInHelp))
  for (const operation of operationsInHelp) command.addCommand(operationCommand(operation)(context))
  return command
}

function operationCommand(operation: Operation) {
  const { target, summary } = operationTypes[operation]
  return defineProjectCommand<Options>({
    name: operation,
    summary,
    description: `${capitalize(summary)}.`,
    options: [
      new Option(`--${target} <id>`, `the ${target} (required)`),
      ...fieldsOf(operation).flatMap(([name, field]) => fieldOptions(name, field)),
      ...(operation === 'message' ? [templateOption()] : []),
      expiresOption().conflicts('expiresAt'),
      personOption(),
      oneProjectOption(),
      quietOption(),
      jsonOption(),
    ],
    help: helpText([operation]),
    what: 'nothing was queued',
    run: (context, call, options) => runAdd(context, call, operation, options),
  })
}

const templateOption = () =>
  new Option(
    `--${templateColumn} <name>`,
    'instead of --content: a text of `replies` in the configuration',
  ).conflicts('content')

type AddField = Omit<(typeof operationTypes)[Operation]['fields'][string], 'kind'> & {
  readonly kind: string
}

function fieldsOf(operation: Operation) {
  return Object.entries<AddField>({ ...operationTypes[operation].fields, ...commonFields })
}

/** Its option, and the one that clears it. */
function fieldOptions(name: string, field: AddField): readonly Option[] {
  const option = new Option(`${optionName(name)} <${field.value}>`, field.help)
  if (field.kind === 'flag') option.argParser(parsedBy('Write true or false.', parseFlag))
  if (field.default !== undefined) option.default(field.default)
  if (field.clearHelp === undefined) return [option]
  return [
    option,
    new Option(clearOptionName(name), field.clearHelp).conflicts(option.attributeName()),
  ]
}

/** `agent_id`: --agent */
function optionName(field: string): string {
  return `--${field.replace(/_id$/, '').replaceAll('_', '-')}`
}

function clearOptionName(field: string): string {
  return optionName(field).replace('--', '--clear-')
}

async function runAdd(
  context: CommandContext,
  { config, project, hint }: ProjectCall,
  operation: Operation,
  options: Options,
): Promise<CommandResult> {
  const createdBy = decidingPerson(context, config, options)
  const { addWriteback, fillReply } = await context.load(() => import('../../app/outbox.ts'))
  const given = await toRequestLine(context, operation, options)
  const sender = replyNameOf(config.console.people, project, createdBy)
  const line =
    operation === 'message' && sender !== null ? { sender_name: sender, ...given } : given
  const { fields, mistake } =
    'template' in line ? await fillReply(config, project, line) : { fields: line, mistake: null }
  if (mistake !== null) throw notQueuedError(describeOption(mistake), exampleHint(operation))
  const request = validateRequest(operation, fields, context.now())
  const report = await addWriteback(config, project, request, { createdBy })
  const nextSteps = options.quiet === true ? [] : nextStepsOfAdded(report, project, request, hint)
  for (const line of nextSteps) context.writeErr(`${line}\n`)
  return { document: report, lines: report.id === null ? [] : [report.id], exit: 0 }
}

/** The options in the form of an import line. */
async function toRequestLine(context: CommandContext, operation: Operation, options: Options) {
  const { target } = operationTypes[operation]
  const optionValue = (option: string) => options[new Option(option).attributeName()]
  const line: Record<string, unknown> = { operation, [`${target}_id`]: options[target] }
  for (const [name, { clearHelp, readsStdin }] of fieldsOf(operation)) {
    const value = optionValue(optionName(name))
    if (clearHelp !== undefined && optionValue(clearOptionName(name)) === true) line[name] = null
    else
      line[name] =
        readsStdin && value === '-' ? await readText(context.openStdin(), optionName(name)) : value
  }
  line['template'] = optionValue(`--${templateColumn}`)
  line.expires_at ??= toExpiryTime(context.now(), options.expires)
  return Object.fromEntries(Object.entries(line).filter(([, value]) => value !== undefined))
}

/** Removes the final line end, which the editor or the shell adds. */
async function readText(input: AsyncIterable<Uint8Array>, option: string): Promise<string> {
  const bytes = await buffer(Readable.from(input))
  // Invalid bytes would reach a customer as replacement characters.
  if (!isUtf8(bytes))
    throw notQueuedError(`${option}: standard input is not UTF-8`, 'save the text as UTF-8')
  return bytes.toString('utf8').replace(/\r?\n$/, '')
}

/** Reports mistakes by option name. */
function validateRequest(
  operation: Operation,
  line: Readonly<Record<string, unknown>>,
  now: EpochMs,
): WritebackRequest {
  const result = parseRequest(line)
  const mistakes = result.ok ? expiryMistakes(result.request, now) : result.mistakes
  if (result.ok && mistakes.length === 0) return result.request
  const isUnsigned = mistakes.some(
    ({ field, why }) => field === 'sender_name' && why === 'is missing',
  )
  const next = isUnsigned
    ? 'give --sender-name NAME, or set reply_as in the configuration for all replies'
    : exampleHint(operation)
  throw notQueuedError(mistakes.map(describeOption).join('\n'), next)
}

const describeOption = ({ field, why }: Pick<RequestMistake, 'field' | 'why'>) =>
  mistakeText({ field: field?.replace(/\w+/g, optionName) ?? null, why })

const exampleHint = (operation: Operation) =>
  `\`deskmirror writeback add ${operation} --help\` has examples`

function notQueuedError(why: string, next: string): UserError {
  return new UserError({ what: 'nothing was queued', why, next })
}

function nextStepsOfAdded(
  { id, status, marks, ...estimate }: AddWritebackReport,
  project: ProjectConfig,
  { ref }: WritebackRequest,
  hint: CommandHint,
): string[] {
  if (id === null) return [`nothing was queued: the ref ${ref} was queued before`]
  const shown = marks.map((mark) => `look at this first: ${showInvisible(mark)}`)
  if (status === 'draft')
    return [...shown, `it waits for approval: ${hint(`writeback approve ${id}`)}`]
  return [...shown, ...renderEstimate(estimate, project, hint).slice(1)]
}
