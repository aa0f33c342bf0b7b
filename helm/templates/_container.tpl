{{/* The container; with `mode` sidecar one for `initContainers`. Charts that depend on this one: include "tollgate.container" .Subcharts.tollgate */}}
{{- define "tollgate.container" -}}
- name: tollgate
  image: {{ include "tollgate.image" . | quote }}
  imagePullPolicy: {{ .Values.image.pullPolicy }}
  {{- if ne .Values.mode "standalone" }}
  restartPolicy: Always # a sidecar: starts before the application and ends after it
  {{- end }}
  args: [serve, -c, /etc/tollgate/tollgate.yaml]
  ports:
    - name: {{ .Values.portNames.http }}
      containerPort: {{ .Values.containerPorts.http }}
      protocol: TCP
    - name: {{ .Values.portNames.admin }}
      containerPort: {{ .Values.containerPorts.admin }}
      protocol: TCP
    {{- if .Values.decisionsService.enabled }}
    - name: {{ .Values.portNames.decisions }}
      containerPort: {{ .Values.containerPorts.decisions }}
      protocol: TCP
    {{- end }}
  terminationMessagePolicy: FallbackToLogsOnError
  {{- include "tollgate.environment" . }}
  startupProbe:
    httpGet:
      path: /readyz?startup=1
      port: {{ .Values.portNames.admin }}
      {{- include "tollgate.probeScheme" . | nindent 6 }}
    {{- toYaml .Values.probes.startup | nindent 4 }}
  readinessProbe:
    httpGet:
      path: /readyz
      port: {{ .Values.portNames.admin }}
      {{- include "tollgate.probeScheme" . | nindent 6 }}
    {{- toYaml .Values.probes.readiness | nindent 4 }}
  livenessProbe:
    httpGet:
      path: /livez
      port: {{ .Values.portNames.admin }}
      {{- include "tollgate.probeScheme" . | nindent 6 }}
    {{- toYaml .Values.probes.liveness | nindent 4 }}
  lifecycle:
    {{- if not .Values.lifecycle.preStop }}
    preStop:
      exec: # from within the container, where it needs no token
        command: [/nodejs/bin/node, /app/dist/main.js, drain, -c, /etc/tollgate/tollgate.yaml]
    {{- end }}
    {{- with .Values.lifecycle }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
  {{- with .Values.resources }}
  resources:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with .Values.securityContext }}
  securityContext:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  volumeMounts:
    {{- include "tollgate.mounts" . | nindent 4 }}
{{- end }}

{{/* The container that checks the configuration before the gateway starts, and says file, line and cure where it fails. */}}
{{- define "tollgate.checkContainer" -}}
- name: check
  image: {{ include "tollgate.image" . | quote }}
  imagePullPolicy: {{ .Values.image.pullPolicy }}
  args: [check, {{ if .Values.initCheck.connect }}--connect, {{ end }}-c, /etc/tollgate/tollgate.yaml]
  terminationMessagePolicy: FallbackToLogsOnError # kubectl describe pod shows it
  {{- include "tollgate.environment" . }}
  {{- with .Values.resources }}
  resources:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with .Values.securityContext }}
  securityContext:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  volumeMounts:
    {{- include "tollgate.mounts" . | nindent 4 }}
{{- end }}

{{/* The variables of both containers, as members of a container. */}}
{{- define "tollgate.environment" -}}
{{- with include "tollgate.env" . }}
  env:
    {{- . | trim | nindent 4 }}
{{- end }}
{{- with .Values.extraEnvFrom }}
  envFrom:
    {{- toYaml . | nindent 4 }}
{{- end }}
{{- end }}

{{/* The mounts of both containers. */}}
{{- define "tollgate.mounts" -}}
- name: tollgate-config
  mountPath: /etc/tollgate # the folder and no subPath, so that changes arrive
  readOnly: true
- name: tollgate-tmp
  mountPath: /tmp
{{- if eq .Values.store "embedded" }}
- name: tollgate-data
  mountPath: /data
{{- end }}
{{- if .Values.tls.existingSecret }}
- name: tollgate-tls
  mountPath: /etc/tollgate-tls
  readOnly: true
{{- end }}
{{- if .Values.admin.tls.existingSecret }}
- name: tollgate-admin-tls
  mountPath: /etc/tollgate-admin-tls
  readOnly: true
{{- end }}
{{- if .Values.redis.tls.existingSecret }}
- name: tollgate-redis-ca
  mountPath: /etc/tollgate-redis-ca
  readOnly: true
{{- end }}
{{- with .Values.extraVolumeMounts }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{/* The kubelet does not verify the certificate. */}}
{{- define "tollgate.probeScheme" -}}
scheme: {{ ternary "HTTP" "HTTPS" (empty .Values.admin.tls.existingSecret) }}
{{- end }}

{{/* The volumes of the container. */}}
{{- define "tollgate.volumes" -}}
- name: tollgate-config
  configMap:
    name: {{ include "tollgate.configMapName" . }}
- name: tollgate-tmp
  emptyDir:
    sizeLimit: 64Mi
{{- if eq .Values.store "embedded" }}
- name: tollgate-data
  {{- if .Values.persistence.enabled }}
  persistentVolumeClaim:
    claimName: {{ default (include "tollgate.fullname" .) .Values.persistence.existingClaim }}
  {{- else }}
  emptyDir: {}
  {{- end }}
{{- end }}
{{- with .Values.tls.existingSecret }}
- name: tollgate-tls
  secret:
    secretName: {{ . }}
    {{- with include "tollgate.keyMode" $ }}
    {{- . | trim | nindent 4 }}
    {{- end }}
{{- end }}
{{- with .Values.admin.tls.existingSecret }}
- name: tollgate-admin-tls
  secret:
    secretName: {{ . }}
    {{- with include "tollgate.keyMode" $ }}
    {{- . | trim | nindent 4 }}
    {{- end }}
{{- end }}
{{- with .Values.redis.tls.existingSecret }}
- name: tollgate-redis-ca
  secret:
    secretName: {{ . }}
    items:
      - key: ca.crt
        path: ca.crt
{{- end }}
{{- with .Values.extraVolumes }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{/* For the group alone, which is ours by `fsGroup`. The pod of an application may have none, and we could not read it then. */}}
{{- define "tollgate.keyMode" -}}
{{- if and (eq .Values.mode "standalone") .Values.podSecurityContext.fsGroup }}
defaultMode: 288 # 0440
{{- end }}
{{- end }}

{{/* The secrets, which never stand in the configuration. A variable may use those above it. */}}
{{- define "tollgate.env" -}}
{{- $ours := include "tollgate.fullname" . }}
{{- with .Values.admin }}
{{- if or .existingSecret .token }}
{{- $key := ternary .existingSecretKey "admin-token" (not (empty .existingSecret)) }}
{{ include "tollgate.secretVariable" (list "TOLLGATE_ADMIN_TOKEN" (default $ours .existingSecret) $key) }}
{{- end }}
{{- end }}
{{- include "tollgate.storeVariables" . }}
{{- if .Values.redis.tls.existingSecret }}
- name: NODE_EXTRA_CA_CERTS
  value: /etc/tollgate-redis-ca/ca.crt
{{- end }}
{{- with .Values.extraEnv }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{- define "tollgate.storeVariables" -}}
{{- $ours := include "tollgate.fullname" . }}
{{- with .Values.redis }}
{{- if eq $.Values.store "embedded" }}
- name: TOLLGATE_STORE_URL
  value: sqlite:/data/tollgate.db
{{- else if .existingSecretUrlKey }}
{{ include "tollgate.secretVariable" (list "TOLLGATE_STORE_URL" .existingSecret .existingSecretUrlKey) }}
{{- else if contains "@" .url }}
{{ include "tollgate.secretVariable" (list "TOLLGATE_STORE_URL" $ours "store-url") }}
{{- else if or .existingSecretPasswordKey .password }}
{{- $key := default "store-password" .existingSecretPasswordKey }}
{{- $url := splitn "://" 2 .url }}
{{ include "tollgate.secretVariable" (list "TOLLGATE_STORE_PASSWORD" (default $ours .existingSecret) $key) }}
- name: TOLLGATE_STORE_URL
  value: {{ printf "%s://%s:$(TOLLGATE_STORE_PASSWORD)@%s" $url._0 .username $url._1 | quote }}
{{- else if .url }}
- name: TOLLGATE_STORE_URL
  value: {{ .url | quote }}
{{- end }}
{{- end }}
{{- end }}

{{/* Name of the variable, name of the Secret, key. */}}
{{- define "tollgate.secretVariable" -}}
- name: {{ index . 0 }}
  valueFrom:
    secretKeyRef:
      name: {{ index . 1 }}
      key: {{ index . 2 }}
{{- end }}

{{- define "tollgate.podAnnotations" -}}
{{- include "tollgate.checksums" . | trim }}
{{- with .Values.podAnnotations }}
{{ toYaml . }}
{{- end }}
{{- end }}
