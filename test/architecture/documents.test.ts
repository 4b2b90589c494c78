/** Documents, and what points to them, name only what exists. */
import { existsSync, globSync, readFileSync, statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { expect, test } from 'vitest'

const root = new URL('../..', import.meta.url).pathname
const read = (path: string) => readFileSync(join(root, path), 'utf8')
const documents = globSync(['*.md', 'docs/**/*.md'], { cwd: root })

/** As GitHub makes them of headings. */
function anchorsOf(path: string): readonly string[] {
  const headings =
    read(path)
      .replaceAll(/```[\s\S]*?```/g, '')
      .match(/^#+ .*$/gm) ?? []
  return headings.map((heading) =>
    heading
      .replace(/^#+ /, '')
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N} _-]/gu, '')
      .replaceAll(' ', '-'),
  )
}

test('every link leads to a file and a heading', () => {
  const broken = documents.flatMap((path) =>
    [...read(path).matchAll(/\]\((?!https?:)([^()#\s]*)(?:#([^()\s]*))?\)/g)].flatMap(
      ([link, file = '', anchor]) => {
        const target = file === '' ? path : join(dirname(path), file)
        const isFound =
          existsSync(join(root, target)) &&
          (anchor === undefined || anchorsOf(target).includes(anchor))
        return isFound ? [] : [`${path}: ${link}`]
      },
    ),
  )
  expect(documents.length).toBeGreaterThan(10)
  expect(broken).toEqual([])
})

test('every function that a document names beside its file is there', () => {
  const beside = /`((?:src|jobs|schema)\/[\w./-]+\.ts)` \| `(\w+)`/g
  const named = documents.flatMap((path) =>
    [...read(path).matchAll(beside)].map(([, file = '', name = '']) => ({ file, name })),
  )
  const missing = named.filter(
    ({ file, name }) =>
      !new RegExp(`^export (?:async )?(?:function\\*?|const) (?:\\{.*)?\\b${name}\\b`, 'm').test(
        read(file),
      ),
  )
  expect(named.length).toBeGreaterThan(10)
  expect(missing).toEqual([])
})

test('every file that a document or a comment names is there', () => {
  const sources = globSync(
    ['{src,jobs,schema,bin,build,bench,deploy}/**/*', 'docker-compose.yml', 'Dockerfile'],
    {
      cwd: root,
    },
  )
  const paths = sources.filter(
    (path) => statSync(join(root, path)).isFile() && !path.includes('secrets'),
  )
  const inDocuments = /`((?:src|jobs|schema|test|bench|bin|build|deploy)\/[\w./-]+\.\w+)`/g
  const missing = [
    ...documents.flatMap((path) =>
      [...read(path).matchAll(inDocuments)].map(([, name = '']) => [path, name]),
    ),
    ...paths.flatMap((path) =>
      [...read(path).matchAll(/\bdocs\/[\w/-]+\.md/g)].map(([name]) => [path, name]),
    ),
  ].filter(([, name = '']) => !existsSync(join(root, name)))
  expect(missing.map(([path, name]) => `${path}: ${name}`)).toEqual([])
})
