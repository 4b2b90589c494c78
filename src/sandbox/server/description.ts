/** The service's API description, as the file and as a page. */
import { existsSync, readFileSync } from 'node:fs'
import { parse } from 'yaml'
import { type ApiDescription, renderDocsPage } from './docs-page.ts'

/** In a checkout the file is three levels up, in a build four. */
const candidatePaths = ['../../../schema/openapi.yaml', '../../../../schema/openapi.yaml'].map(
  (path) => new URL(path, import.meta.url),
)

let cachedText: string | undefined

export function descriptionText(): string {
  if (cachedText === undefined) {
    const path = candidatePaths.find((candidate) => existsSync(candidate))
    if (path === undefined) throw new Error('schema/openapi.yaml is missing')
    cachedText = readFileSync(path, 'utf8')
  }
  return cachedText
}

export function descriptionPage(): string {
  return renderDocsPage(parse(descriptionText()) as ApiDescription)
}
