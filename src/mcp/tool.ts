/** What a tool works with, how it is declared, and how a call of it is answered. */
import type { CallToolResult, StandardSchemaWithJSON } from '@modelcontextprotocol/server'
import { z } from 'zod'
import type { DatabaseAddress, Warehouse } from '../app/open.ts'
import type { Config, ProjectConfig } from '../config/config.ts'
import type { ConsoleProject } from '../console/console.ts'
import { showInvisibleInLines } from '../values/invisible.ts'
import type { EpochMs } from '../values/time.ts'
import { UserError } from '../values/user-error.ts'
import type { BoundedQuery } from '../warehouse/bounded-answer.ts'
import type { ProjectDb } from '../warehouse/project-db.ts'

/** One project, and one person who started it. */
export type Session = {
  readonly project: ConsoleProject
  /** Where the warehouse is. */
  readonly address: DatabaseAddress
  /** For reading. */
  readonly warehouse: Warehouse
  readonly db: ProjectDb
  readonly query: BoundedQuery
  /** Who started it, as the settings spell the name. */
  readonly person: string
  /** That person sees no words, names or addresses of visitors, so neither does the assistant. */
  readonly hidesMessages: boolean
  /** Where drafts go; null: nothing can be proposed here. */
  readonly drafts: { readonly config: Config; readonly project: ProjectConfig } | null
  readonly now: () => EpochMs
}

/** `author`: the person and the assistant, as stored with what they draft. */
type Call = { readonly session: Session; readonly author: string }

export type Tool = {
  readonly name: string
  readonly description: string
  readonly input: StandardSchemaWithJSON
  readonly output: z.ZodObject
  readonly isOffered: (session: Session) => boolean
  readonly run: (input: unknown, call: Call) => Promise<object>
}

type ToolSpec<Input extends z.ZodObject> = Pick<Tool, 'name' | 'description' | 'output'> &
  Partial<Pick<Tool, 'isOffered'>> & {
    readonly input: Input
    readonly run: (input: z.infer<Input>, call: Call) => Promise<object>
  }

export function defineTool<Input extends z.ZodObject>({ run, input, ...spec }: ToolSpec<Input>): Tool {
  const parse = (given: unknown) => {
    const parsed = input.safeParse(given)
    if (parsed.success) return parsed.data
    const why = z.prettifyError(parsed.error).slice(0, 2000)
    throw new UserError({ what: 'nothing was asked', why, next: 'compare with the schema of the tool', exitCode: 2 })
  }
  return {
    ...{ isOffered: () => true, ...spec },
    // The server would refuse what does not fit before the call is counted.
    input: { '~standard': { ...input['~standard'], validate: (value) => ({ value }) } },
    run: async (given, call) => run(parse(given), call),
  }
}

/** The answer as data and, for clients that know none, as text. Whoever wrote its texts, what nobody can see is shown in them. */
export function toResult(answer: object): CallToolResult {
  const shown = showTexts(answer) as Record<string, unknown>
  return { structuredContent: shown, content: [{ type: 'text', text: JSON.stringify(shown) }] }
}

function showTexts(value: unknown): unknown {
  if (typeof value === 'string') return showInvisibleInLines(value)
  if (typeof value === 'bigint') return String(value)
  if (Array.isArray(value)) return value.map(showTexts)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, showTexts(inner)]))
}
