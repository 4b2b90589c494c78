/** Sends requests to a sandbox, and checks every response against the API description. */
import { readFileSync } from 'node:fs'
import { Ajv2020 } from 'ajv/dist/2020.js'
import formats from 'ajv-formats'
import { expect } from 'vitest'
import { parse } from 'yaml'
import type { Sandbox } from '../../src/sandbox/sandbox.ts'

type Response = { content: { 'application/json': { schema: { $ref: string } } } }
type Operation = { operationId: string; responses: Record<string, Response | { $ref: string }> }
type Description = {
  paths: Record<string, Record<string, Operation>>
  components: { schemas: object; responses: Record<string, Response> }
}

const parts = ['openapi.yaml', 'openapi-components.yaml'].map((name) =>
  readFileSync(new URL(`../../schema/${name}`, import.meta.url), 'utf8'),
)
export const description = parse(parts.join('')) as Description

const ajv = new Ajv2020({ strict: false, allErrors: true })
formats.default(ajv)
ajv.addSchema({ $id: 'service', components: description.components })

/** Every operation of the description, by its id. */
export const describedOperations = new Map(
  Object.entries(description.paths).flatMap(([path, item]) =>
    ['get', 'post', 'patch'].flatMap((method) => {
      const operation = item[method]
      return operation === undefined
        ? []
        : [[operation.operationId, { path, method, ...operation }] as const]
    }),
  ),
)

// biome-ignore lint/suspicious/noExplicitAny: a response is whatever the service sent; the schema says what it must be.
export type SandboxResponse = { status: number; headers: Headers; body: any; text: string }

export type SandboxRequest = {
  method?: string
  body?: unknown
  headers?: Record<string, string>
  key?: string | null
}

export async function sendRequest(
  sandbox: Sandbox,
  path: string,
  options: SandboxRequest = {},
): Promise<SandboxResponse> {
  const { method = 'GET', body, headers = {}, key = sandbox.key } = options
  const response = await fetch(sandbox.baseUrl + path, {
    method,
    redirect: 'manual',
    headers: { ...(key === null ? {} : { authorization: `Bearer ${key}` }), ...headers },
    ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
  })
  const text = await response.text()
  const json = response.headers.get('content-type')?.startsWith('application/json')
    ? JSON.parse(text)
    : null
  return { status: response.status, headers: response.headers, body: json, text }
}

/** The same, for a response that must match the description of the operation. */
export async function sendConforming(
  sandbox: Sandbox,
  operationId: string,
  path: string,
  options: SandboxRequest = {},
): Promise<SandboxResponse> {
  const response = await sendRequest(sandbox, path, options)
  if (response.status !== 204) expect(schemaMismatches(operationId, response)).toEqual([])
  return response
}

export function schemaMismatches(
  operationId: string,
  { status, body }: SandboxResponse,
): readonly string[] {
  const responses = describedOperations.get(operationId)!.responses
  const described =
    responses[status] ?? (status < 300 ? responses['2XX'] : undefined) ?? responses.default!
  const response =
    '$ref' in described
      ? description.components.responses[described.$ref.split('/').at(-1)!]!
      : described
  const schema = response.content['application/json'].schema.$ref
  const validate = ajv.getSchema(`service${schema}`) ?? ajv.compile({ $ref: `service${schema}` })
  return validate(body)
    ? []
    : (validate.errors ?? []).map((error) => `${error.instancePath} ${error.message}`)
}

/** The ids of one row of each kind, and their paths. */
export async function firstRowPaths(sandbox: Sandbox) {
  const first = (stream: Parameters<Sandbox['truth']>[0]) => sandbox.truth(stream).next().value!.id!
  const base = `/public/projects/${sandbox.projectId}`
  return {
    base,
    conversation: `/public/conversations/${first('conversations')}`,
    conversationId: first('conversations'),
    visitor: `${base}/visitors/${first('visitors')}`,
    visitorId: first('visitors'),
    call: `/public/calls/${first('calls')}`,
    callId: first('calls'),
  }
}
