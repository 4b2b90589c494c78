/** `deskmirror writeback add`: queues one write-back; a sub-command for each operation, with its own options. */
import { isUtf8 } from 'node:buffer'
import { Command, InvalidArgumentError, Option } from 'commander'
import type { ProjectConfig } from '../../config/config.ts'
import { type CommandHint, projectCommandHint } from '../../core/command-hint.ts'
import type { AddWritebackReport } from '../../core/outbox/reports.ts'
import { expiryMistakes, parseRequest, type WritebackRequest } from '../../core/outbox/writeback-request.ts'
import type { EpochMs, Ms } from '../../core/time.ts'
import { UserError } from '../../core/user-error.ts'
import type { CommandContext } from '../command-context.ts'
import { type CommandResult, runAndPrint, selectOneProject } from '../command-result.ts'
import { jsonOption, oneProjectOption, quietOption } from '../options.ts'
import { expiresOption, toExpiryTime } from './expiry.ts'
import { renderEstimate } from './render-import.ts'

type Options = {
  readonly conversation?: string
  readonly visitor?: string
  readonly content?: string
  readonly senderName?: string
  readonly handled?: boolean
  readonly name?: string
  readonly clearName?: true
  readonly email?: string
  readonly clearEmail?: true
  readonly ref?: string
  readonly expect?: string
  readonly expiresAt?: string
  readonly expires?: Ms
  readonly project?: string
  readonly quiet?: true
  readonly json?: true
}

const examples: Readonly<Record<WritebackRequest['operation'], readonly string[]>> = {
  message: [
    'message --conversation ID --sender-name Ann --content "We have found it."',
    'message --conversation ID --sender-name Ann --content - < reply.txt',
  ],
  handled: [
    'handled --conversation ID                     marks it handled',
    'handled --conversation ID --handled false     reopens it',
  ],
  note: ['note --visitor ID --content "Asked for an invoice."'],
  visitor: ['visitor --visitor ID --name "Ada Lovelace" --clear-email'],
}

const helpText = (calls: readonly string[]) => `
Examples:
${calls.map((call) => `  $ deskmirror writeback add ${call}`).join('\n')}

\`deskmirror push\` or a running worker sends it.
Standard output is the id of the queued write-back, on a line of its own.
Exit code: 0 queued, or its --ref was queued before · 1 failed, trying again may help · 2 a person must change something`

export function addCommand(context: CommandContext): Command {
  const command = new Command('add')
    .summary('queue one write-back')
    .description('Queues one write-back. `deskmirror writeback add <operation> --help` shows its options.')
    .addHelpText('after', helpText(Object.values(examples).flat()))
  for (const operation of operationCommands(context)) command.addCommand(operation)
  return command
}

function operationCommands(context: CommandContext): Command[] {
  const conversation = () => new Option('--conversation <id>', 'the conversation (required)')
  const visitor = () => new Option('--visitor <id>', 'the visitor (required)')
  const content = () => new Option('--content <text>', 'the text; - reads it from standard input (required)')
  return [
    operationCommand(context, 'message', 'a reply to the visitor of a conversation; it reopens the conversation', [
      conversation(),
      content(),
      new Option('--sender-name <name>', 'the name that the visitor sees (required)'),
    ]),
    operationCommand(context, 'handled', 'mark a conversation handled, or reopen it', [
      conversation(),
      new Option('--handled <true|false>', 'false reopens it').argParser(parseBoolean).default(true),
    ]),
    operationCommand(context, 'note', 'an internal note about a visitor', [visitor(), content()]),
    operationCommand(
      context,
      'visitor',
      'correct the name of a visitor, the email, or both; an omitted field stays unchanged',
      [
        visitor(),
        new Option('--name <name>', 'the new name'),
        new Option('--clear-name', 'remove the name').conflicts('name'),
        new Option('--email <email>', 'the new email address'),
        new Option('--clear-email', 'remove the email address').conflicts('email'),
      ],
    ),
  ]
}

function operationCommand(
  context: CommandContext,
  name: WritebackRequest['operation'],
  description: string,
  ownOptions: readonly Option[],
): Command {
  const command = new Command(name).summary(description).description(toSentence(description))
  const common = [
    new Option('--ref <key>', 'your own key: the same one is never queued twice'),
    new Option(
      '--expect <message>',
      'the last message that you saw, its id or its time: not sent if a visitor has written since',
    ),
    new Option('--expires-at <time>', 'do not send it after this time, for example 2026-01-31T18:00:00Z').conflicts(
      'expires',
    ),
    expiresOption(),
    oneProjectOption(),
    quietOption(),
    jsonOption(),
  ]
  for (const option of [...ownOptions, ...common]) command.addOption(option)
  return command
    .addHelpText('after', helpText(examples[name]))
    .action((options: Options) => runAndPrint(context, options.json === true, () => runAdd(context, name, options)))
}

function toSentence(text: string): string {
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}.`
}

function parseBoolean(text: string): boolean {
  if (/^(true|yes|1)$/i.test(text)) return true
  if (/^(false|no|0)$/i.test(text)) return false
  throw new InvalidArgumentError('Write true or false.')
}

async function runAdd(
  context: CommandContext,
  operation: WritebackRequest['operation'],
  options: Options,
): Promise<CommandResult> {
  const config = context.loadConfig('mirror')
  const project = selectOneProject(config.projects, options.project, 'nothing was queued')
  const request = validateRequest(operation, await toRequestLine(context, operation, options), context.now())
  const { addWriteback } = await context.load(() => import('../../app/outbox.ts'))
  const report = await addWriteback(config, project, request, { createdBy: context.currentUser() })
  if (options.quiet !== true)
    for (const line of renderNextSteps(report, project, request, projectCommandHint(config.projects, project.name)))
      context.writeErr(`${line}\n`)
  return { document: report, lines: report.id === null ? [] : [report.id], exit: 0 }
}

/** The options in the form of an import line. */
async function toRequestLine(context: CommandContext, operation: WritebackRequest['operation'], options: Options) {
  const { conversation, visitor, content, senderName, handled, name, email } = options
  const line = {
    operation,
    conversation_id: conversation,
    visitor_id: visitor,
    content: content === '-' ? await readText(context.openStdin()) : content,
    sender_name: senderName,
    handled,
    name: options.clearName ? null : name,
    email: options.clearEmail ? null : email,
    ref: options.ref,
    expect: options.expect,
    expires_at: options.expiresAt ?? toExpiryTime(context.now(), options.expires),
  }
  return Object.fromEntries(Object.entries(line).filter(([, value]) => value !== undefined))
}

/** Removes the final line end, which the editor or the shell adds. */
async function readText(input: AsyncIterable<Uint8Array>): Promise<string> {
  const chunks: Uint8Array[] = []
  for await (const chunk of input) chunks.push(chunk)
  const bytes = Buffer.concat(chunks)
  // Invalid bytes would reach a customer as replacement characters.
  if (!isUtf8(bytes)) throw notQueuedError('--content: standard input is not UTF-8', 'save the text as UTF-8')
  return bytes.toString('utf8').replace(/\r?\n$/, '')
}

const optionNames: Readonly<Record<string, string>> = { conversation_id: '--conversation', visitor_id: '--visitor' }

/** Reports mistakes by option name. */
function validateRequest(
  operation: WritebackRequest['operation'],
  line: Readonly<Record<string, unknown>>,
  now: EpochMs,
): WritebackRequest {
  const result = parseRequest(line)
  const mistakes = result.ok ? expiryMistakes(result.request, now) : result.why
  if (result.ok && mistakes.length === 0) return result.request
  const mistakesByOption = mistakes.map((why) =>
    why.replace(/^[\w, ]+(?=:)/, (fields) =>
      fields.replace(/\w+/g, (field) => optionNames[field] ?? `--${field.replaceAll('_', '-')}`),
    ),
  )
  const next = `\`deskmirror writeback add ${operation} --help\` has examples`
  throw notQueuedError(mistakesByOption.join('\n'), next)
}

function notQueuedError(why: string, next: string): UserError {
  return new UserError({ what: 'nothing was queued', why, next, exitCode: 2 })
}

function renderNextSteps(
  { id, status, ...estimate }: AddWritebackReport,
  project: ProjectConfig,
  { ref }: WritebackRequest,
  hint: CommandHint,
): string[] {
  if (id === null) return [`nothing was queued: the ref ${ref} was queued before`]
  if (status === 'draft') return [`it waits for approval: ${hint(`writeback approve ${id}`)}`]
  return renderEstimate(estimate, project, hint).slice(1)
}
