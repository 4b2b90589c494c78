/** How a tool is declared, and how a call of it is answered. */
import type { CallToolResult } from '@modelcontextprotocol/server'
import type { z } from 'zod'
import { showInvisibleInLines } from '../values/invisible.ts'
import type { Call, Session } from './session.ts'

export type Tool = {
  readonly name: string
  readonly description: string
  readonly input: z.ZodObject
  readonly output: z.ZodObject
  /** Drafts something; every other tool only reads. */
  readonly isProposing: boolean
  readonly isOffered: (session: Session) => boolean
  readonly run: (input: unknown, call: Call) => Promise<object>
}

type ToolSpec<Input extends z.ZodObject> = Pick<Tool, 'name' | 'description' | 'output'> &
  Partial<Pick<Tool, 'isProposing' | 'isOffered'>> & {
    readonly input: Input
    readonly run: (input: z.infer<Input>, call: Call) => Promise<object>
  }

/** The server parses the input by its schema, and checks the answer by its own. */
export function defineTool<Input extends z.ZodObject>({ run, ...spec }: ToolSpec<Input>): Tool {
  return {
    isProposing: false,
    isOffered: () => true,
    ...spec,
    run: (input, call) => run(input as z.infer<Input>, call),
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
