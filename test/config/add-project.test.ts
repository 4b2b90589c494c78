/** What `init` writes: one more project, and everything else as it was. */
import { parseEnv } from 'node:util'
import { describe, expect, test } from 'vitest'
import { addKeyToEnv, addToEnv, addToYaml, isConfigured } from '../../src/config/add-project.ts'

const project = {
  name: 'shop',
  baseUrl: 'https://api.example.com/v1',
  projectId: 'p-1',
  key: { value: 'svc_live_1' },
}

describe('.env', () => {
  test('gets the three settings, below what it has', () => {
    expect(addToEnv('DESKMIRROR_RATE=60/60s', project)).toBe(
      'DESKMIRROR_RATE=60/60s\nDESKMIRROR_BASE_URL=https://api.example.com/v1\nDESKMIRROR_PROJECT_ID=p-1\nDESKMIRROR_API_KEY=svc_live_1\n',
    )
    expect(addToEnv('', { ...project, key: { file: '/run/key' } })).toContain(
      '\nDESKMIRROR_API_KEY_FILE=/run/key\n',
    )
  })

  test('is read as it was written, whatever a value has', () => {
    const hostile = {
      baseUrl: 'https://api.example.com/v1\nA=1',
      projectId: "p'1",
      key: { value: 'one#two"\n$A' },
    }
    expect(parseEnv(addToEnv('', { ...project, ...hostile }))).toEqual({
      DESKMIRROR_BASE_URL: hostile.baseUrl,
      DESKMIRROR_PROJECT_ID: hostile.projectId,
      DESKMIRROR_API_KEY: hostile.key.value,
    })
    expect(parseEnv(addKeyToEnv('', 'shop', '#1'))).toEqual({ SHOP_API_KEY: '#1' })
  })

  test('that sets something else describes no project', () => {
    expect(isConfigured('DESKMIRROR_RATE=60/60s\n# DESKMIRROR_BASE_URL=x')).toBe(false)
  })

  test.each([
    'DESKMIRROR_PROJECT_ID=x',
    'A=1\n export DESKMIRROR_API_KEY = x',
    'DESKMIRROR_BASE_URL=',
  ])('that has one describes a project: %j', (text) => {
    expect(isConfigured(text)).toBe(true)
  })
})

describe('deskmirror.yaml', () => {
  const before =
    '# ours\nrate: 60/60s # slow\nprojects:\n  # the first\n  school: { project_id: p-0 }\n'

  test('gets the project, and keeps its comments; the key is a reference', () => {
    const text = addToYaml(before, project) ?? ''
    for (const kept of [
      '# ours',
      'rate: 60/60s # slow',
      '# the first',
      'school: { project_id: p-0 }',
    ])
      expect(text).toContain(kept)
    expect(text).toContain(
      'shop:\n    base_url: https://api.example.com/v1\n    project_id: p-1\n    api_key:\n      env: SHOP_API_KEY\n',
    )
    expect(text).not.toContain('svc_live_1')
    expect(addToYaml('', { ...project, key: { file: '/k' } })).toContain('file: /k')
  })

  test('that has a project of this name or id stays', () => {
    expect(addToYaml(before, { ...project, name: 'school' })).toBeNull()
    // The variable of its key is the same.
    expect(addToYaml(before, { ...project, name: 'School' })).toBeNull()
    expect(addToYaml(before, { ...project, projectId: 'p-0' })).toBeNull()
  })

  test('the key is in .env, once', () => {
    const once = addKeyToEnv('A=1\n', 'my-shop', 'one')
    expect(once).toBe('A=1\nMY_SHOP_API_KEY=one\n')
    expect(addKeyToEnv(once, 'my-shop', 'two')).toBe('A=1\nMY_SHOP_API_KEY=two\n')
  })
})
