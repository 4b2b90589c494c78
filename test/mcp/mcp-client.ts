/** The protocol's official client, connected to the real command in a process of its own. */
import { Client } from '@modelcontextprotocol/client'
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio'
import { cleanEnvironment, launcher } from '../cli/run-process.ts'

/** As deep as a test looks; an assertion says what is there. */
// biome-ignore lint/suspicious/noExplicitAny: what a tool answers is what is tested.
type Answer = any

export type McpClient = Awaited<ReturnType<typeof connectMcp>>

/**
 * `args`: after `deskmirror mcp`. `cwd`: without a configuration of its own unless `env` has one.
 */
export async function connectMcp(
  args: readonly string[],
  {
    cwd,
    env = {},
    name = 'Claude',
  }: { readonly cwd: string; readonly env?: Record<string, string>; readonly name?: string },
) {
  const client = new Client({ name, version: '1.0.0' })
  const transport = new StdioClientTransport({
    command: process.execPath,
    args: [launcher, 'mcp', ...args],
    cwd,
    env: cleanEnvironment(env),
    stderr: 'pipe',
  })
  let log = ''
  transport.stderr?.on('data', (text: Buffer) => {
    log += text.toString()
  })
  await client.connect(transport).catch((error: unknown) => {
    throw new Error(`${String(error)}: ${log}`)
  })
  const call = async (tool: string, given: Record<string, unknown> = {}) => {
    const { structuredContent, content, isError } = await client.callTool({
      name: tool,
      arguments: given,
    })
    const [first] = content as { text: string }[]
    return { data: structuredContent as Answer, text: first?.text ?? '', isError: isError === true }
  }
  return { client, call, log: () => log, pid: transport.pid, close: () => client.close() }
}
