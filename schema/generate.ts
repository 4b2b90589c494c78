/**
 * Generates `wire.ts`, the types of requests and answers, from `openapi.yaml`. With `--check` it only checks that it is
 * current.
 */
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { compile, type JSONSchema } from 'json-schema-to-typescript'
import { parse } from 'yaml'

const source = new URL('./openapi.yaml', import.meta.url)
const target = new URL('./wire.ts', import.meta.url)
const banner = '/** The service’s wire types, made from openapi.yaml by generate.ts. Do not edit. */'

/** The generator knows JSON Schema but not OpenAPI, so all schemas become definitions of one root schema. */
async function generateWireTypes(): Promise<string> {
  const text = readFileSync(source, 'utf8').replaceAll('#/components/schemas/', '#/definitions/')
  const { components } = parse(text) as { components: { schemas: Record<string, JSONSchema> } }
  const names = Object.keys(components.schemas)
  const properties = Object.fromEntries(names.map((name) => [name, { $ref: `#/definitions/${name}` }]))
  const rootSchema: JSONSchema = {
    type: 'object',
    description: 'Every schema of the service by its name.',
    properties,
    required: names,
    additionalProperties: false,
    definitions: components.schemas,
  }
  return compile(rootSchema, 'Wire', {
    bannerComment: banner,
    style: { semi: false, singleQuote: true, printWidth: 120 },
  })
}

const fresh = await generateWireTypes()
if (!process.argv.includes('--check')) {
  writeFileSync(target, fresh)
} else if (!existsSync(target) || readFileSync(target, 'utf8') !== fresh) {
  process.stderr.write('schema/wire.ts is out of date: run node schema/generate.ts\n')
  process.exitCode = 1
}
