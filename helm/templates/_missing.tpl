{{/*
What the pods wait for and the namespace does not have. Only a cluster that is asked can know: each of its namespaces has
kube-root-ca.crt, which `helm template` and a dry run do not see.
*/}}
{{- define "tollgate.missing" -}}
{{- $namespace := .Release.Namespace }}
{{- if lookup "v1" "ConfigMap" $namespace "kube-root-ca.crt" }}
{{- range include "tollgate.needed" . | fromYamlArray }}
{{- $found := lookup "v1" .kind $namespace .name }}
{{- if and (not $found) (not (contains (quote .name) (toJson $.Values.extraObjects))) }}

The {{ .kind }} {{ .name }} ({{ .value }}) does not exist in the namespace {{ $namespace }}: pods wait for it.
{{- with .cure }} Make it:

  {{ . }}
{{- end }}
{{- else if and $found .key (not (hasKey (default dict $found.data) .key)) }}

The Secret {{ .name }} ({{ .value }}) has no key {{ .key }}: pods wait for it.
{{- end }}
{{- end }}
{{- end }}
{{- end }}

{{/* What others make and the pods need, each with the value that names it. */}}
{{- define "tollgate.needed" -}}
{{- $needed := list }}
{{- with .Values.admin }}
{{- if .existingSecret }}
{{- $cure := printf "kubectl -n %s create secret generic %s --from-literal=%s=$(openssl rand -hex 32)" $.Release.Namespace .existingSecret .existingSecretKey }}
{{- $needed = append $needed (dict "kind" "Secret" "name" .existingSecret "key" .existingSecretKey "value" "admin.existingSecret" "cure" $cure) }}
{{- end }}
{{- if .tls.existingSecret }}
{{- $needed = append $needed (dict "kind" "Secret" "name" .tls.existingSecret "value" "admin.tls.existingSecret") }}
{{- end }}
{{- end }}
{{- if .Values.tls.existingSecret }}
{{- $needed = append $needed (dict "kind" "Secret" "name" .Values.tls.existingSecret "value" "tls.existingSecret") }}
{{- end }}
{{- with .Values.redis }}
{{- if and .existingSecret (eq $.Values.store "redis") }}
{{- $needed = append $needed (dict "kind" "Secret" "name" .existingSecret "key" (default .existingSecretPasswordKey .existingSecretUrlKey) "value" "redis.existingSecret") }}
{{- end }}
{{- if .tls.existingSecret }}
{{- $needed = append $needed (dict "kind" "Secret" "name" .tls.existingSecret "key" "ca.crt" "value" "redis.tls.existingSecret") }}
{{- end }}
{{- end }}
{{- if .Values.existingConfigMap }}
{{- $needed = append $needed (dict "kind" "ConfigMap" "name" .Values.existingConfigMap "value" "existingConfigMap") }}
{{- end }}
{{- toYaml $needed }}
{{- end }}
